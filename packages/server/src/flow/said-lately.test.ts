import assert from "node:assert/strict";
import { test } from "node:test";
import { saidLately } from "./said-lately.ts";

test("the same is said once a minute, also when something else is said in between; there is no end to what may be said", () => {
  let now = 0;
  const lately = saidLately(() => now);
  assert.deepEqual(["a", "b", "a", "b"].map(lately), [false, false, true, true]);
  now = 59_999;
  assert.equal(lately("a"), true);
  now = 60_000;
  assert.deepEqual(["a", "a"].map(lately), [false, true]);
  for (let number = 0; number < 1000; number += 1) assert.equal(lately(String(number)), false);
});
