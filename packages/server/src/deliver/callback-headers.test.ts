import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { mergeHeaders } from "./callback-headers.ts";

const service = { "Content-Type": "application/json", "Content-Length": "2", "X-Delivery-Id": "job" };
const defaults = { "User-Agent": "lazaret/1.2.3" };

function merged(client: Record<string, string>): Record<string, string> {
  const flat = mergeHeaders({ defaults, client, service });
  const pairs = Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index], flat[2 * index + 1]]);
  return Object.fromEntries(pairs);
}

describe("the headers of a callback", () => {
  for (const name of [
    "X-Signature",
    "x-signature",
    "X-SIGNATURE",
    "X-Timestamp",
    "x-delivery-id",
    "X-Delivery-Attempt",
    "X-Delivery-Anything",
    "Content-Type",
    "content-length",
    "Content-Encoding",
    "Host",
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "transfer-encoding",
    "Upgrade",
    "HTTP2-Settings",
    "Expect",
    "Proxy-Authorization",
  ]) {
    it(`are not the client's to set: ${name}`, () => {
      assert.deepEqual(merged({ [name]: "forged", "X-Tenant": "7" }), { ...defaults, ...service, "X-Tenant": "7" });
    });
  }

  it("are otherwise the client's, as it wrote them", () => {
    const client = {
      authorization: "Bearer t",
      "X-Tenant": "7",
      "X-Signature-Of-Mine": "s",
      constructor: "c",
      "Content-Language": "de",
      "Content-Disposition": "inline",
      "Content-MD5": "x",
      Range: "bytes=0-1",
      "Accept-Encoding": "br",
    };
    assert.deepEqual(merged(client), { ...defaults, ...client, ...service });
  });

  it("let the client have a User-Agent of its own, once", () => {
    assert.deepEqual(merged({ "user-agent": "acme/1" }), { "user-agent": "acme/1", ...service });
  });

  it("hold each name once in whatever case, and the service's unchanged", () => {
    const letter = fc.constantFrom(..."xX-tTcC");
    const name = fc.oneof(
      fc.string({ unit: letter, minLength: 1 }),
      fc.constantFrom("X-Signature", "cOnTeNt-TyPe", "x-DELIVERY-id", "USER-agent", "content-LENGTH", "hOST"),
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.constant("forged")), (client) => {
        const flat = mergeHeaders({ defaults, client, service });
        const names = flat.filter((_, index) => index % 2 === 0).map((each) => each.toLowerCase());
        assert.equal(new Set(names).size, names.length);
        assert.equal(names.includes("x-signature") || names.includes("host"), false);
        for (const [own, value] of Object.entries(service)) assert.equal(flat[flat.indexOf(own) + 1], value);
      }),
    );
  });
});
