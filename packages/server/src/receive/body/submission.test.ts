import assert from "node:assert/strict";
import { test } from "node:test";
import { type SyncObjectRequest, syncObjectSchema } from "@lazaret/contract";
import { checkBody } from "./json-body.ts";
import { objectSource } from "./submission.ts";

/** With a store that would take any name, so that only the request's own limits speak. */
function codeOf(body: Record<string, unknown>): string {
  try {
    objectSource(checkBody<SyncObjectRequest>(body, syncObjectSchema), () => undefined);
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
