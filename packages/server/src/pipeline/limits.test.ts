import assert from "node:assert/strict";
import { test } from "node:test";
import { restartSeconds } from "./limits.ts";

test("a program of ours that dies is started again at once, and later each time when it keeps dying", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 7, 8, 50].map(restartSeconds), [0, 0, 1, 2, 4, 30, 30, 30]);
});
