import assert from "node:assert/strict";
import { test } from "node:test";
import { SMALL_FILE_BYTES } from "./scan-limits.ts";
import { type ScanTask, type WaitingLine, waitingLine } from "./waiting-line.ts";

function arrive(line: WaitingLine, size: number, share = ""): ScanTask {
  const file = { kind: "memory", bytes: new Uint8Array(size) } as const;
  return line.add({ file, signal: new AbortController().signal, share, other: undefined, settle() {}, fail() {} });
}

test("files are taken in the order they came", () => {
  const line = waitingLine();
  const [first, second] = [arrive(line, SMALL_FILE_BYTES + 1), arrive(line, 10)];
  assert.deepEqual([line.take("any"), line.take("any"), line.take("any")], [first, second, undefined]);
});

test("the thread for small files passes over large ones", () => {
  const line = waitingLine();
  const [large, small] = [arrive(line, SMALL_FILE_BYTES + 1), arrive(line, SMALL_FILE_BYTES)];
  assert.deepEqual([line.count("any"), line.count("small")], [2, 1]);
  assert.deepEqual([line.take("small"), line.take("small")], [small, undefined]);
  assert.equal(line.take("any"), large);
});

test("a file that is put back goes first", () => {
  const line = waitingLine();
  const [first, second] = [arrive(line, 10), arrive(line, 10)];
  assert.equal(line.take("any"), first);
  line.putBack(first);
  assert.deepEqual([line.take("any"), line.take("any")], [first, second]);
});

test("a file of somebody who has no thread goes before those of somebody who has, and of the same one in order", () => {
  const line = waitingLine();
  const [first, second, third] = [arrive(line, 10, "crowd"), arrive(line, 10, "crowd"), arrive(line, 10, "crowd")];
  line.begun(line.take("any") as ScanTask);
  const other = arrive(line, 10, "other");
  assert.equal(line.take("small"), other);
  line.begun(other);
  line.ended(first);
  assert.deepEqual([line.take("any"), line.take("any")], [second, third]);
});

test("several that have as many threads take turns", () => {
  const line = waitingLine();
  const tasks = ["a", "a", "a", "b", "b", "c"].map((share) => arrive(line, 10, share));
  const order = tasks.map(() => line.take("any")?.share);
  assert.deepEqual(order, ["a", "b", "c", "a", "b", "a"]);
});

test("who gives up leaves the line", () => {
  const line = waitingLine();
  const [first, second] = [arrive(line, 10), arrive(line, 10)];
  assert.equal(line.remove(first), true);
  assert.equal(line.remove(first), false);
  assert.equal(line.take("any"), second);
});
