import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../test/support/until.ts";
import { SMALL_FILE_BYTES, TOGETHER_COUNT, TOGETHER_EACH_BYTES } from "./scan-limits.ts";
import { type ScanTask, type WaitingLine, waitingLine } from "./waiting-line.ts";

const anyThread = { smallOnly: false, prechecks: true };
const smallThread = { smallOnly: true, prechecks: true };
const strictThread = { smallOnly: false, prechecks: false };

function arrive(line: WaitingLine, size: number): ScanTask {
  const file = { kind: "memory", bytes: new Uint8Array(size) } as const;
  return line.add({ file, signal: new AbortController().signal, other: undefined, settle() {}, fail() {} });
}

test("files are taken in the order they came", () => {
  const line = waitingLine(0, () => {});
  const [first, second] = [arrive(line, SMALL_FILE_BYTES), arrive(line, SMALL_FILE_BYTES)];
  assert.deepEqual([line.take(anyThread), line.take(anyThread), line.take(anyThread)], [[first], [second], []]);
});

test("the thread for small files passes over large ones", () => {
  const line = waitingLine(0, () => {});
  const [large, small] = [arrive(line, SMALL_FILE_BYTES + 1), arrive(line, SMALL_FILE_BYTES)];
  assert.deepEqual([line.take(smallThread), line.take(smallThread)], [[small], []]);
  assert.deepEqual(line.take(anyThread), [large]);
});

test("small files go together, as many as may, and those that were prechecked go alone", () => {
  const line = waitingLine(0, () => {});
  const tasks = Array.from({ length: TOGETHER_COUNT + 3 }, () => arrive(line, 10));
  assert.deepEqual(line.take(anyThread), tasks.slice(0, TOGETHER_COUNT));
  const [one, two, three] = tasks.slice(TOGETHER_COUNT);
  assert.ok(one && two && three);
  one.prechecked = true;
  assert.deepEqual([line.take(anyThread), line.take(smallThread)], [[one], [two, three]]);
});

test("no more bytes go together than may", () => {
  const line = waitingLine(0, () => {});
  for (let i = 0; i < 20; i += 1) arrive(line, TOGETHER_EACH_BYTES);
  assert.equal(line.take(anyThread).length, 8);
});

test("rules that do not allow for it have every file go alone", () => {
  const line = waitingLine(0, () => {});
  const first = arrive(line, 10);
  arrive(line, 10);
  assert.deepEqual(line.take(strictThread), [first]);
});

test("a small file that comes soon after another waits for more; a large one does not", async () => {
  let ripe = 0;
  const line = waitingLine(50, () => {
    ripe += 1;
  });
  const alone = arrive(line, 10);
  assert.deepEqual(line.take(anyThread), [alone]);
  const waiting = [arrive(line, 10), arrive(line, 10)];
  const large = arrive(line, SMALL_FILE_BYTES);
  assert.deepEqual([line.take(anyThread), line.take(anyThread)], [[large], []]);
  await until("the wait is over", () => ripe === 2);
  assert.deepEqual(line.take(anyThread), waiting);
});

test("a group that is full waits no longer", () => {
  const line = waitingLine(60_000, () => {});
  arrive(line, 10);
  line.take(anyThread);
  const tasks = Array.from({ length: TOGETHER_COUNT }, () => arrive(line, 10));
  assert.deepEqual(line.take(anyThread), tasks);
});

test("who gives up leaves the line", () => {
  const line = waitingLine(0, () => {});
  const [first, second] = [arrive(line, 10), arrive(line, 10)];
  assert.equal(line.remove(first), true);
  assert.equal(line.remove(first), false);
  assert.deepEqual(line.take(anyThread), [second]);
});
