import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { dotted, forbiddenHost, forbiddenIpv6, ipv4, isForbidden } from "../../test/support/addresses.ts";
import { addressGuard, allowedHostProblem, networkProblem } from "./address-guard.ts";

const closed = addressGuard({ allowNetworks: [], allowHosts: [] });
const guardWith = (allowNetworks: string[], allowHosts: string[] = []) => addressGuard({ allowNetworks, allowHosts });

describe("the address guard", () => {
  it("blocks a forbidden IPv4 address in every notation", () => {
    fc.assert(
      fc.property(forbiddenHost, (host) => {
        assert.equal(closed.checkUrl(`http://${host}/`).kind, "blocked");
      }),
    );
  });

  it("blocks IPv6 addresses that stand for forbidden IPv4 addresses", () => {
    fc.assert(
      fc.property(forbiddenIpv6, (address) => {
        assert.equal(closed.checkUrl(`http://[${address}]/`).kind, "blocked");
        assert.equal(closed.mayDial(address, "pub.test", 80), false);
      }),
    );
  });

  it("opens nothing that a second opinion calls special", () => {
    const ipv6 = fc.tuple(fc.integer({ min: 0x2000, max: 0x3fff }), fc.ipV6()).map(([head, tail]) => {
      const parts = ipaddr.IPv6.parse(tail).parts.slice(1);
      return ipaddr.fromByteArray([head, ...parts].flatMap((part) => [part >> 8, part & 0xff])).toString();
    });
    fc.assert(
      fc.property(fc.oneof(ipv4.map(dotted), fc.ipV6(), ipv6), (address) => {
        if (closed.mayDial(address, "pub.test", 80)) assert.equal(isForbidden(address), false);
      }),
      { numRuns: 2000 },
    );
  });

  it("blocks the special ranges to their edges, and not their neighbours", () => {
    const edges = {
      blocked: [
        ["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.0"],
        ["169.254.0.0", "172.16.0.0", "172.31.255.255", "192.0.0.255", "192.0.2.255", "192.88.99.1", "192.168.255.255"],
        ["198.18.0.0", "198.19.255.255", "198.51.100.1", "203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0"],
        ["::", "::1", "1fff:ffff::1", "2001::1", "2001:1ff:ffff::1", "2001:db8::", "2001:db8:ffff::1", "2002::1"],
        [
          "3ffe::1",
          "3ffe:ffff:ffff::1",
          "3fff::1",
          "3fff:fff:ffff::1",
          "4000::1",
          "5f00::1",
          "64:ff9b:1::1",
          "100::1",
          "fc00::1",
          "fe80::1",
          "ff02::1",
        ],
      ].flat(),
      allowed: [
        ["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"],
        [
          "169.253.255.255",
          "172.15.255.255",
          "172.32.0.0",
          "192.0.1.0",
          "192.167.255.255",
          "198.17.255.255",
          "198.20.0.0",
        ],
        [
          "223.255.255.255",
          "2000::1",
          "2001:200::1",
          "2001:db7::1",
          "2001:db9::1",
          "2003::1",
          "3ffd:ffff::1",
          "3fff:1000::1",
        ],
      ].flat(),
    };
    for (const address of edges.blocked) assert.equal(closed.mayDial(address, "pub.test", 80), false, address);
    for (const address of edges.allowed) assert.equal(closed.mayDial(address, "pub.test", 80), true, address);
  });

  it("lets public addresses pass", () => {
    fc.assert(
      fc.property(ipv4.map(dotted), (address) => {
        fc.pre(!isForbidden(address));
        assert.equal(closed.checkUrl(`http://${address}/`).kind, "allowed");
        assert.equal(closed.mayDial(address, "pub.test", 443), true);
      }),
    );
  });

  it("never answers an address that is not in its usual notation", () => {
    for (const address of [
      "",
      "pub.test",
      "0x5d.184.216.34",
      "1.1",
      "fe80::1%eth0",
      "2606:4700::1%1",
      "[2606:4700::1]",
    ]) {
      assert.equal(closed.mayDial(address, "pub.test", 80), false, address);
    }
  });

  for (const [url, why] of [
    ["", "empty"],
    ["pub.test/x", "no scheme"],
    ["//pub.test/x", "no scheme"],
    ["/etc/passwd", "no scheme"],
    ["http:pub.test", "no authority"],
    ["http:/pub.test", "no authority"],
    ["http:///pub.test", "empty authority"],
    ["http://?x", "empty authority"],
    ["http://@pub.test/", "empty credentials"],
    ["http://user@pub.test/", "a user name"],
    ["http://pub.test/a b", "space"],
    [" http://pub.test/", "space in front"],
    ["http://pub.test/\r\nX: y", "line break"],
    ["ht\ntp://pub.test/", "line break that parsers take out"],
    ["http://pub.test/\t", "tab"],
    ["http://pub.test\\x", "backslash"],
    ["http://pub.test/ä", "not ASCII"],
    ["http://pub.test/{x}", "braces"],
    ["http://pub.test/100%", "percent sign alone"],
    ["http://pub.test/%zz", "percent sign without digits"],
    ["http://pub.test:port/", "port"],
    ["http://[::1/", "bracket"],
    [`http://pub.test/${"x".repeat(2033)}`, "2,049 characters"],
  ] as const) {
    it(`calls a URL invalid for its ${why}: ${JSON.stringify(url.slice(0, 40))}`, () => {
      assert.equal(closed.checkUrl(url).kind, "invalid");
    });
  }

  it("takes a URL of exactly 2,048 characters, and a longer link from a server", () => {
    assert.equal(closed.checkUrl(`http://pub.test/${"x".repeat(2032)}`).kind, "allowed");
    assert.equal(closed.checkLink(`http://pub.test/${"x".repeat(4000)}`).kind, "allowed");
  });

  it("takes every character of RFC 3986", () => {
    const url = "https://a-b_c~d.test:8443/p;a=1/(x)!$&'*+,:@%20?q=[1]&r=/?#frag";
    assert.equal(closed.checkUrl(url).kind, "allowed");
  });

  it("blocks ports of other protocols", () => {
    for (const port of [0, 1, 22, 25, 110, 587, 6000, 6379, 6667, 11211]) {
      assert.equal(closed.checkUrl(`http://pub.test:${port}/`).kind, "blocked", `${port}`);
      assert.equal(closed.mayDial("93.184.216.34", "pub.test", port), false, `${port}`);
    }
  });

  it("opens exactly an allowed host and port, whatever it resolves to and whatever the port", () => {
    const guard = guardWith([], ["Files.Internal:8080", "[::1]:9000", "mail.internal:25"]);
    assert.equal(guard.mayDial("10.0.0.1", "files.internal", 8080), true);
    assert.equal(guard.mayDial("10.0.0.1", "files.internal.", 8080), true);
    assert.equal(guard.mayDial("10.0.0.1", "files.internal", 8081), false);
    assert.equal(guard.mayDial("10.0.0.1", "other.internal", 8080), false);
    assert.equal(guard.mayDial("10.0.0.1", "mail.internal", 25), true);
    assert.equal(guard.checkUrl("http://mail.internal:25/").kind, "allowed");
    assert.equal(guard.checkUrl("http://[::1]:9000/").kind, "allowed");
    assert.equal(guard.checkUrl("http://[::1]:9001/").kind, "blocked");
    assert.equal(guard.checkUrl("http://10.0.0.1:8080/").kind, "blocked");
  });

  it("opens the scheme's own port by number", () => {
    const guard = guardWith([], ["127.0.0.1:80", "127.0.0.2:443"]);
    assert.equal(guard.checkUrl("http://127.0.0.1/").kind, "allowed");
    assert.equal(guard.checkUrl("https://127.0.0.2/").kind, "allowed");
    assert.equal(guard.checkUrl("https://127.0.0.1/").kind, "blocked");
  });

  it("opens allowed networks, and not their bad ports", () => {
    const guard = guardWith(["127.0.0.0/8", "::1/128"]);
    assert.equal(guard.checkUrl("http://127.0.0.1:18080/").kind, "allowed");
    assert.equal(guard.checkUrl("http://[::1]:18080/").kind, "allowed");
    assert.equal(guard.checkUrl("http://127.0.0.1:6379/").kind, "blocked");
    assert.equal(guard.checkUrl("http://[::ffff:127.0.0.1]/").kind, "blocked");
  });

  it("opens a metadata address by its exact network only", () => {
    const metadata = ["169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"];
    const broad = guardWith(["0.0.0.0/0", "::/0"], [...metadata.slice(0, 4).map((a) => `${a}:80`), "md.test:80"]);
    for (const address of metadata) {
      assert.equal(broad.mayDial(address, "md.test", 80), false, address);
      assert.equal(broad.mayDial(address, address, 80), false, address);
      const exact = guardWith([`${address}/${address.includes(":") ? 128 : 32}`]);
      assert.equal(exact.mayDial(address, "md.test", 80), true, address);
    }
  });

  it("opens a NAT64 network without what is behind it", () => {
    const guard = guardWith(["64:ff9b::/96", "::ffff:0:0/96", "2002::/16"], ["nat.test:80"]);
    assert.equal(guard.mayDial("64:ff9b::5db8:d822", "pub.test", 80), true);
    assert.equal(guard.mayDial("64:ff9b::a00:1", "pub.test", 80), false);
    for (const address of ["64:ff9b::a9fe:a9fe", "::ffff:169.254.169.254", "2002:a9fe:a9fe::1"]) {
      assert.equal(guard.mayDial(address, "nat.test", 80), false, address);
    }
  });

  it("opens a network without what its addresses carry, wherever they carry it", () => {
    const guard = guardWith(["2001::/32", "64:ff9b:1::/48", "fd00::/8"]);
    const rows = [
      // Teredo: server 65.54.227.120, and clients 169.254.169.254, 10.0.0.1 and 93.184.216.34, inverted.
      ["2001:0:4136:e378:8000:63bf:5601:5601", false],
      ["2001:0:4136:e378:8000:63bf:f5ff:fffe", false],
      ["2001:0:4136:e378:8000:63bf:a247:27dd", true],
      ["2001:0:a00:1:8000:63bf:a247:27dd", false],
      // NAT64 with prefixes of 96, 64, 56 and 48 bits.
      ["64:ff9b:1::5db8:d822", true],
      ["64:ff9b:1::a9fe:a9fe", false],
      ["64:ff9b:1:0:a9:fea9:fe00:0", false],
      ["64:ff9b:1:a9:fe:a9fe::", false],
      ["64:ff9b:1:a9fe:a9:fe00::", false],
      // ISATAP.
      ["fd00::5efe:a9fe:a9fe", false],
      ["fd00::200:5efe:7f00:1", false],
      ["fd00::200:5efe:5db8:d822", true],
      ["fd00::5eff:7f00:1", true],
    ] as const;
    for (const [address, opened] of rows) assert.equal(guard.mayDial(address, "pub.test", 80), opened, address);
  });

  it("blocks ISATAP below global prefixes by what they carry", () => {
    for (const id of ["0:5efe", "200:5efe", "100:5efe", "300:5efe"]) {
      for (const inside of ["7f00:1", "a9fe:a9fe", "a00:1", "c0a8:101", "0:0"])
        assert.equal(closed.mayDial(`2606:4700:0:1:${id}:${inside}`, "pub.test", 80), false, `${id}:${inside}`);
      assert.equal(closed.mayDial(`2606:4700:0:1:${id}:5db8:d822`, "pub.test", 80), true, id);
    }
    assert.equal(closed.mayDial("2002:5db8:d822:1:0:5efe:7f00:1", "pub.test", 80), false, "in 6to4");
  });

  it("says what is wrong with an allowed network", () => {
    for (const text of ["10.0.0.0/8", "127.0.0.1/32", "fd12:3456::/32", "::/0", "0.0.0.0/0"]) {
      assert.equal(networkProblem(text), undefined, text);
    }
    assert.match(networkProblem("10.0.0.1") ?? "", /write 10\.0\.0\.1\/32/);
    for (const text of [
      "",
      "10.0.0.0/33",
      "10.0.0.1/8",
      "10/8",
      "0x0a.0.0.0/8",
      "::/129",
      "fe80::%1/64",
      "x/8",
      "10.0.0.0/",
    ]) {
      assert.match(networkProblem(text) ?? "", /CIDR/, text);
    }
    assert.throws(() => guardWith(["10.0.0.0/33"]), /cannot allow a network/);
  });

  it("says what is wrong with an allowed host", () => {
    for (const text of ["files.internal:8080", "127.0.0.1:80", "[::1]:443", "a_b:1", "x:65535"]) {
      assert.equal(allowedHostProblem(text), undefined, text);
    }
    for (const text of [
      "",
      "x",
      "x:",
      ":80",
      "x:0",
      "x:65536",
      "http://x:80",
      "x:80/",
      "::1:80",
      "*.x:80",
      "u@x:80",
      "[x]:80",
    ]) {
      assert.match(allowedHostProblem(text) ?? "", /host:port/, text);
    }
    assert.throws(() => guardWith([], ["x"]), /cannot allow a host/);
  });
});
