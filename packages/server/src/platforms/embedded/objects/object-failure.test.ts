import assert from "node:assert/strict";
import { test } from "node:test";
import { findings } from "@lazaret/contract";
import { SourceFailed } from "../../../model/source.ts";
import { changedMeanwhile, failedBy } from "./object-failure.ts";

test("what a file system says becomes the finding of the object", () => {
  for (const [code, finding, passing] of [
    ["ENOENT", findings.objectNotFound, false],
    ["ENOTDIR", findings.objectNotFound, false],
    ["ELOOP", findings.objectNotFound, false],
    ["EACCES", findings.objectAccessDenied, false],
    ["EPERM", findings.objectAccessDenied, false],
    ["EMFILE", findings.downloadFailed, true],
    ["EIO", findings.downloadFailed, true],
    ["ESTALE", findings.downloadFailed, true],
  ] as const) {
    const failed = failedBy(Object.assign(new Error("secret/path"), { code }), "cannot read the object");
    assert.ok(failed instanceof SourceFailed);
    assert.deepEqual({ ...failed.failure, message: "" }, { finding, code, passing, message: "" });
    assert.doesNotMatch(failed.message, /secret/);
  }
});

test("what is known already, or is no error of the file system, stays as it is", () => {
  const changed = changedMeanwhile();
  assert.equal(failedBy(changed, "cannot read"), changed);
  const bug = new TypeError("not a function");
  assert.equal(failedBy(bug, "cannot read"), bug);
});
