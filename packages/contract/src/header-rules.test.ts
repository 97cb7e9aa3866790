import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { checkHeaders, type HeaderMap } from "./header-rules.ts";

interface HeaderCase {
  id: string;
  where: HeaderMap;
  name: string;
  value: unknown;
  expect: "reject_400" | "allow" | "strip_or_force_identity" | "ignore_service_wins";
  why: string;
}

const file = new URL("../../server/test/cases/outbound.json", import.meta.url);
const { header_cases }: { header_cases: HeaderCase[] } = JSON.parse(readFileSync(file, "utf8"));

const names = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, ""]));

describe("headers a client wants sent", () => {
  for (const { id, where, name, value, expect, why } of header_cases) {
    it(`${id} ${where} ${JSON.stringify(name)}: ${expect}, ${why}`, () => {
      // As JSON.parse makes it, where `__proto__` is a key like any other.
      const checked = checkHeaders(JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`), where);
      if (expect === "reject_400") assert.equal(checked.kind, "invalid");
      else assert.deepEqual(checked, { kind: "ok", headers: expect === "allow" ? { [name]: value } : {} });
    });
  }

  for (const where of ["download_headers", "callback_headers"] as const) {
    it(`refuses connection, framing and proxy headers in ${where}, in any case`, () => {
      const never = ["Host", "Connection", "keep-alive", "TE", "Trailer", "Transfer-Encoding", "UPGRADE", "Expect"];
      for (const name of [...never, "Proxy-Authenticate", "proxy-x", "HTTP2-Settings"]) {
        assert.equal(checkHeaders({ [name]: "x" }, where).kind, "invalid", name);
      }
    });
  }

  it("says why it refuses a header", () => {
    const connection = "it belongs to the connection, which the service makes";
    const framing = "it belongs to the framing, which the service chooses";
    const http1 = "the service speaks HTTP/1.1 and nothing else";
    const reasons = {
      Connection: connection,
      "Keep-Alive": connection,
      TE: connection,
      Trailer: framing,
      "Transfer-Encoding": framing,
      "Content-Length": framing,
      Upgrade: http1,
      "HTTP2-Settings": http1,
      Expect: "the service does not wait for 100 Continue",
      Host: "it is taken from the URL",
      Range: "the whole file is always scanned",
      "Proxy-Connection": "it is for proxies, and the service uses none",
    };
    for (const [name, hint] of Object.entries(reasons)) {
      const message = `${name} is not allowed in download_headers`;
      assert.deepEqual(checkHeaders({ [name]: "x" }, "download_headers"), { kind: "invalid", message, hint });
    }
  });

  it("refuses ranges for downloads, which must be the whole file, and lets callbacks have them", () => {
    for (const name of ["Range", "if-range"]) {
      assert.equal(checkHeaders({ [name]: "x" }, "download_headers").kind, "invalid", name);
      assert.deepEqual(checkHeaders({ [name]: "x" }, "callback_headers"), { kind: "ok", headers: { [name]: "x" } });
    }
  });

  it("refuses a length for downloads and passes over it for callbacks", () => {
    assert.equal(checkHeaders({ "Content-Length": "0" }, "download_headers").kind, "invalid");
    assert.deepEqual(checkHeaders({ "Content-Length": "0" }, "callback_headers"), { kind: "ok", headers: {} });
  });

  it("lets the service win over what it sets on callbacks itself", () => {
    const given = {
      "x-timestamp": "1",
      "X-DELIVERY-ID": "2",
      "X-Delivery-Attempt": "3",
      "content-encoding": "gzip",
      "Content-Type": "text/plain",
      "x-signature": "4",
      A: "b",
    };
    assert.deepEqual(checkHeaders(given, "callback_headers"), { kind: "ok", headers: { A: "b" } });
    assert.deepEqual(checkHeaders({ "X-Signature": "s" }, "download_headers"), {
      kind: "ok",
      headers: { "X-Signature": "s" },
    });
  });

  it("refuses two names that differ only in case", () => {
    assert.equal(checkHeaders({ Authorization: "a", authorization: "b" }, "download_headers").kind, "invalid");
  });

  it("takes 100 names and not 101", () => {
    assert.equal(checkHeaders(names(100), "download_headers").kind, "ok");
    assert.equal(checkHeaders(names(101), "download_headers").kind, "invalid");
  });

  it("takes 16 KB of names and values and not a byte more", () => {
    const headers = (bytes: number) => ({ AB: "x".repeat(bytes - 5), C: "yy" });
    assert.equal(checkHeaders(headers(16_384), "download_headers").kind, "ok");
    assert.equal(checkHeaders(headers(16_385), "download_headers").kind, "invalid");
  });

  it("keeps names of an object's own for headers like any other", () => {
    const checked = checkHeaders({ constructor: "a", toString: "b" }, "download_headers");
    assert.deepEqual(checked, { kind: "ok", headers: { constructor: "a", toString: "b" } });
    assert.equal(checkHeaders(JSON.parse('{"__proto__":"x"}'), "download_headers").kind, "invalid");
  });

  it("never lets a line break through, and never tells a value", () => {
    const unit = fc.constantFrom("a", "-", " ", ":", "\r", "\n", "\0", "\t", "\x7f", "é", "ē", "😀");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 3 }), fc.string({ unit, minLength: 5 }), (name, value) => {
        const checked = checkHeaders(
          JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`),
          "download_headers",
        );
        if (checked.kind === "invalid") assert.ok(!checked.message.includes(value));
        else assert.doesNotMatch(Object.entries(checked.headers).flat().join(), /[\r\n\0\x7f]|[^\0-\xff]/);
      }),
      { numRuns: 1000 },
    );
  });
});
