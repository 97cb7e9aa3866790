import assert from "node:assert/strict";
import { test } from "node:test";
import { remembered } from "./remembered.ts";

test("however many ask, it is asked once in a while, and less often the longer it takes", async () => {
  let now = 0;
  let asked = 0;
  let takesMs = 1;
  const count = remembered(
    1000,
    async () => {
      asked += 1;
      await new Promise(setImmediate);
      now += takesMs;
      return asked;
    },
    { now: () => now },
  );
  assert.deepEqual(await Promise.all(Array.from({ length: 100 }, count)), Array(100).fill(1));
  now = 999;
  assert.equal(await count(), 1);
  now = 1000;
  takesMs = 300;
  assert.equal(await count(), 2);
  now = 1000 + 300 * 20 - 1;
  assert.equal(await count(), 2);
  now += 1;
  assert.equal(await count(), 3);
});

test("an error is remembered as well, and forgotten in time", async () => {
  let now = 0;
  let asked = 0;
  const failing = remembered(
    1000,
    async () => {
      asked += 1;
      if (asked === 1) throw new Error("not now");
      return asked;
    },
    { now: () => now },
  );
  await assert.rejects(failing(), /not now/);
  await assert.rejects(failing(), /not now/);
  now = 1000;
  assert.equal(await failing(), 2);
});
