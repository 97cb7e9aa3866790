import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Verdict } from "../model/verdict.ts";
import { broadcast, mergeVerdicts } from "./broadcast.ts";

async function* chunks(count: number, pulled: number[] = []): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index += 1) {
    pulled.push(index);
    yield Buffer.from([index]);
  }
}

async function all(bytes: AsyncIterable<Uint8Array> | undefined): Promise<number[]> {
  return (await Array.fromAsync(bytes ?? [])).map((chunk) => chunk[0] ?? -1);
}

test("every reader gets every byte, in one pass over the source", async () => {
  const pulled: number[] = [];
  const [left, right] = broadcast(chunks(5, pulled), 2);
  assert.deepEqual(await Promise.all([all(left), all(right)]), [
    [0, 1, 2, 3, 4],
    [0, 1, 2, 3, 4],
  ]);
  assert.deepEqual(pulled, [0, 1, 2, 3, 4]);
});

test("the slowest reader sets the pace", async () => {
  const pulled: number[] = [];
  const [fast, slow] = broadcast(chunks(100, pulled), 2);
  const fastReader = all(fast);
  const slowReader = slow?.[Symbol.asyncIterator]();
  await slowReader?.next();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(pulled, [0]);
  await slowReader?.return?.();
  assert.equal((await fastReader).length, 100);
});

test("a reader that throws away the rest does not hold up the others", async () => {
  const [patient, impatient] = broadcast(chunks(3), 2);
  const stop = async (): Promise<void> => {
    for await (const _ of impatient ?? []) break;
  };
  const [read] = await Promise.all([all(patient), stop()]);
  assert.deepEqual(read, [0, 1, 2]);
});

test("when every reader has stopped, the source is told", async () => {
  let told = false;
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from([1]);
    } finally {
      told = true;
    }
  }
  const readers = broadcast(source(), 2);
  await Promise.all(
    readers.map(async (reader) => {
      for await (const _ of reader) break;
    }),
  );
  assert.equal(told, true);
});

test("a reader that never begins does not hold up the others once it is stopped", async () => {
  const [reader, idle] = broadcast(chunks(3), 2);
  const read = all(reader);
  idle?.stop();
  assert.deepEqual(await read, [0, 1, 2]);
});

test("an error of the source reaches every reader, also one that asks later", async () => {
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from([1]);
    throw new Error("the source broke");
  }
  const readers = broadcast(broken(), 3);
  const outcomes = await Promise.allSettled(readers.map(all));
  assert.deepEqual(
    outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as Error).message),
    ["the source broke", "the source broke", "the source broke"],
  );
  await assert.rejects(async () => readers[0]?.[Symbol.asyncIterator]().next(), /the source broke/);
});

const clean: Verdict = { kind: "clean" };
const infected: Verdict = { kind: "infected", finding: "Win.Test" };
const rule: Verdict = { kind: "infected", finding: "Rule_Test" };
const encrypted: Verdict = { kind: "unscannable", finding: "scanner:encrypted" };

test("infected if any engine says so, with the name of the first that has one", () => {
  assert.deepEqual(mergeVerdicts([clean, rule]), rule);
  assert.deepEqual(mergeVerdicts([infected, rule]), infected);
  assert.deepEqual(mergeVerdicts([encrypted, rule]), rule);
});

test("not scannable if any engine could not look", () => {
  assert.deepEqual(mergeVerdicts([clean, encrypted]), encrypted);
  assert.deepEqual(mergeVerdicts([encrypted, clean]), encrypted);
});

test("clean only if every engine says so, and never of no engine at all", () => {
  assert.deepEqual(mergeVerdicts([clean, clean]), clean);
  assert.throws(() => mergeVerdicts([]));
  fc.assert(
    fc.property(fc.array(fc.constantFrom(clean, infected, rule, encrypted), { minLength: 1 }), (verdicts) => {
      const said = mergeVerdicts(verdicts).kind === "clean";
      assert.equal(
        said,
        verdicts.every((verdict) => verdict.kind === "clean"),
      );
    }),
  );
});
