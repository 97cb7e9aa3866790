import assert from "node:assert/strict";
import { test } from "node:test";
import { JSON_MAX_BYTES, type SyncObjectRequest, syncObjectSchema } from "@lazaret/contract";
import { wholeBytes } from "../../flow/whole-bytes.ts";
import { addressGuard } from "../../net/address-guard.ts";
import type { ApiRequest } from "../request-answer.ts";
import { checkBody, readJsonObject } from "./json-body.ts";
import { objectSource, type ReplyRules, replyOptions } from "./submission.ts";

const anyTenant = { name: "shop", weight: 1, limits: {} };

/** With a store that would take any name, so that only the request's own limits speak. */
function codeOf(body: Record<string, unknown>): string {
  try {
    objectSource(checkBody<SyncObjectRequest>(body, syncObjectSchema), () => undefined, anyTenant);
    return "taken";
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const longest: Record<string, [taken: object, refused: object]> = {
  "a bucket has 63 characters at most": [{ bucket: "b".repeat(63) }, { bucket: "b".repeat(64) }],
  "a key has 1,024 bytes of UTF-8 at most": [{ key: "ü".repeat(512) }, { key: `k${"ü".repeat(512)}` }],
  "a version has 1,024 characters at most": [{ version: "v".repeat(1024) }, { version: "v".repeat(1025) }],
};
for (const [what, [taken, refused]] of Object.entries(longest)) {
  test(what, () => {
    const object = { bucket: "b", key: "k" };
    assert.deepEqual([codeOf({ ...object, ...taken }), codeOf({ ...object, ...refused })], ["taken", "invalid_object"]);
  });
}

// spec: tenant-5
test("an object of a bucket that the tenant may not use is taken as any other, and marked", () => {
  const source = (buckets: readonly string[] | undefined): unknown =>
    objectSource({ bucket: "bank-in", key: "k" }, () => undefined, { ...anyTenant, ...(buckets && { buckets }) });
  const object = { kind: "object", bucket: "bank-in", key: "k" };
  for (const buckets of [undefined, ["*"], ["shop", "bank-*"]]) assert.deepEqual(source(buckets), object);
  for (const buckets of [[], ["bank"], ["shop-*", "BANK-IN"]])
    assert.deepEqual(source(buckets), { ...object, closed: true });
});

test("a callback_url that was allowed once says nothing about another one, nor about other rules", () => {
  const { checkUrl: checkCallback } = addressGuard({ allowNetworks: ["127.0.0.0/8"], allowHosts: [] });
  const open: ReplyRules = { checkCallback, allowHttpCallbacks: true, tenantIdOf: () => "t" };
  const closed: ReplyRules = { ...open, checkCallback: addressGuard({ allowNetworks: [], allowHosts: [] }).checkUrl };
  const onlyHttps: ReplyRules = { ...open, allowHttpCallbacks: false };
  const outcome = (url: string, rules: ReplyRules): string => {
    try {
      return (
        replyOptions({ callback_url: url }, rules, { account: { tenant: "default", key: "key-1" }, dialect: "spec" })
          .callback?.url ?? "none"
      );
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const local = "http://127.0.0.1:8080/scans";
  assert.equal(outcome(local, open), local);
  assert.equal(outcome(local, closed), "blocked_destination");
  assert.equal(outcome(local, onlyHttps), "invalid_callback_url");
  assert.equal(outcome("http://10.0.0.1/scans", open), "blocked_destination");
  assert.equal(outcome(local, open), local);
  assert.equal(outcome(local, open), local);
});

test("a JSON body that came in one piece is refused when it is too large", async () => {
  const read = (bytes: number): Promise<unknown> => {
    const text = JSON.stringify({ a: "x".repeat(bytes - 8) });
    const headers = { "content-type": "application/json" };
    const request = { headers, contentLength: undefined, body: wholeBytes(Buffer.from(text)) };
    return readJsonObject(request as Partial<ApiRequest> as ApiRequest);
  };
  assert.deepEqual(Object.keys((await read(JSON_MAX_BYTES)) as object), ["a"]);
  await assert.rejects(read(JSON_MAX_BYTES + 1), { code: "body_too_large" });
});
