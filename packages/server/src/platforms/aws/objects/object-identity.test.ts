import assert from "node:assert/strict";
import { test } from "node:test";
import { problemWithNames } from "./object-identity.ts";

const impossible: Record<string, { bucket?: string; key?: string; version?: string }> = {
  "a bucket without a name": { bucket: "" },
  "a bucket that is a dot": { bucket: "." },
  "a bucket that is two dots": { bucket: ".." },
  "a bucket with a slash": { bucket: "a/b" },
  "a bucket with a backslash": { bucket: "a\\b" },
  "a bucket with a NUL": { bucket: "a\0" },
  "a bucket with a line break": { bucket: "a\r\nb" },
  "a bucket with half a surrogate pair": { bucket: "a\ud83d" },
  "a bucket that is an ARN": { bucket: "arn:aws:s3:eu-central-1:123456789012:accesspoint:a" },
  "a bucket that is too long": { bucket: "a".repeat(64) },
  "an empty key": { key: "" },
  "a key with half a surrogate pair": { key: "a\udc7e" },
  "a key that is too long in UTF-8": { key: "é".repeat(513) },
  "a version that is too long": { version: "v".repeat(1025) },
  "an empty version": { version: "" },
  "a version with half a surrogate pair": { version: "\ud83d" },
};

for (const [name, names] of Object.entries(impossible)) {
  test(`${name} can never be`, () => {
    assert.match(
      problemWithNames({ bucket: "bucket", key: "key", ...names }) ?? "",
      /^(bucket|key|version) (must|is|has) /,
    );
  });
}

test("what some server might have is left to the server", () => {
  for (const bucket of ["a", "A_b.C-d", "tenant:bucket", "Ünïcode", "a b", "...", "a".repeat(63)]) {
    assert.equal(problemWithNames({ bucket, key: "key" }), undefined, bucket);
  }
  for (const key of ["/", "..", "a/../../b", "\0", "a\nb", "?#%&+", "👾", "é".repeat(512)]) {
    assert.equal(problemWithNames({ bucket: "bucket", key, version: "null" }), undefined, key);
  }
});
