import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress } from "./incoming-request.ts";

const cases: [what: string, peer: string, forwarded: string | undefined, client: string][] = [
  ["no proxy", "192.0.2.1", undefined, "192.0.2.1"],
  ["a header of somebody who is no trusted proxy", "192.0.2.1", "10.9.9.9", "192.0.2.1"],
  ["a trusted proxy without the header", "10.0.0.1", undefined, "10.0.0.1"],
  ["a trusted proxy", "10.0.0.1", "192.0.2.7", "192.0.2.7"],
  ["a trusted proxy, as IPv6 writes IPv4", "::ffff:10.0.0.1", "192.0.2.7", "192.0.2.7"],
  ["a client that made up a header", "10.0.0.1", "1.1.1.1, 192.0.2.7", "192.0.2.7"],
  ["two trusted proxies", "10.0.0.1", "1.1.1.1, 192.0.2.7, 10.0.0.2", "192.0.2.7"],
  ["proxies all the way", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["an address with a port", "10.0.0.1", "192.0.2.7:4711", "192.0.2.7"],
  ["IPv6", "fd00::1", "2001:db8::7", "2001:db8::7"],
  ["IPv6 with a port", "fd00::1", "[2001:db8::7]:4711", "2001:db8::7"],
  ["something that is no address", "10.0.0.1", "192.0.2.7, unknown", "10.0.0.1"],
  ["an empty header", "10.0.0.1", "", "10.0.0.1"],
];

for (const [what, peer, forwarded, client] of cases) {
  test(`the client's address: ${what}`, () => {
    assert.equal(clientAddress(["10.0.0.0/8", "fd00::/8"])(peer, forwarded), client);
  });
}

test("without trusted proxies the header means nothing", () => {
  assert.equal(clientAddress([])("10.0.0.1", "192.0.2.7"), "10.0.0.1");
  assert.equal(clientAddress([])("::ffff:10.0.0.1", "192.0.2.7"), "10.0.0.1");
});
