import assert from "node:assert/strict";
import { test } from "node:test";
import { batched } from "./batching.ts";

test("calls of one moment share requests, none too full or too heavy", async () => {
  const batches: number[][] = [];
  const double = batched<number, number>({
    largest: 4,
    weight: (entry) => entry,
    heaviest: 10,
    async run(entries) {
      batches.push([...entries]);
      return entries.map((entry) => ({ kind: "done", value: entry * 2 }));
    },
  });
  const entries = [1, 1, 1, 1, 1, 9, 3, 20, 1, 1];
  assert.deepEqual(
    await Promise.all(entries.map(double)),
    entries.map((entry) => entry * 2),
  );
  assert.deepEqual(batches, [[1, 1, 1, 1], [1, 9], [3], [20], [1, 1]]);
});

test("who fails fails alone; a request that fails, fails for all that were in it", async () => {
  const ask = batched<string, string>({
    largest: 2,
    async run(entries) {
      if (entries.includes("down")) throw new Error("the service is down");
      return entries.map((entry) => {
        return entry === "bad" ? { kind: "failed", error: new Error("refused") } : { kind: "done", value: entry };
      });
    },
  });
  const outcomes = await Promise.allSettled(["good", "bad", "down", "good", "good"].map(ask));
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value : outcome.reason.message)),
    ["good", "refused", "the service is down", "the service is down", "good"],
  );
});

test("while many requests are under way further calls wait, and travel together", async () => {
  const waiting: (() => void)[] = [];
  const sizes: number[] = [];
  const ask = batched<number, number>({
    largest: 10,
    async run(entries) {
      sizes.push(entries.length);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return entries.map((value) => ({ kind: "done", value }));
    },
  });
  const calls: Promise<number>[] = [];
  for (let entry = 0; entry < 20; entry += 1) {
    calls.push(ask(entry));
    await new Promise(setImmediate);
  }
  assert.deepEqual(sizes, [1, 1, 1, 1]);
  while (sizes.length < 6) {
    waiting.shift()?.();
    await new Promise(setImmediate);
  }
  for (const finish of waiting) finish();
  assert.deepEqual(
    await Promise.all(calls),
    Array.from({ length: 20 }, (_, entry) => entry),
  );
  assert.deepEqual(sizes.slice(4), [10, 6]);
});
