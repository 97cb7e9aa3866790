import assert from "node:assert/strict";
import { test } from "node:test";
import { mostProcesses, processesOf, restartSeconds, settingsOfOne, shareOf, threadsOf } from "./processes.ts";

const plain = {
  role: "all",
  concurrency: 0,
  waitingLine: 0,
  workers: 0,
  verdictCache: 50_000,
  processes: "auto",
} as const;
const each = (of: number): { number: number; of: number }[] =>
  Array.from({ length: of }, (_, index) => ({ number: index + 1, of }));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test("auto is one process for every two cores, at most eight, and never more than files scanned at once", () => {
  const byCores = [1, 2, 3, 4, 7, 8, 16, 64].map((cores) => processesOf(plain, cores * 8, cores));
  assert.deepEqual(byCores, [1, 1, 1, 2, 3, 4, 8, 8]);
  assert.equal(processesOf(plain, 4, 64), 4);
  assert.equal(processesOf({ ...plain, concurrency: 2 }, 4, 64), 2);
  assert.equal(processesOf({ ...plain, role: "worker", workers: 3 }, 4, 64), 3);
  assert.equal(processesOf({ ...plain, processes: 5 }, 4, 2), 5);
});

test("shares add up to the whole", () => {
  for (const total of [0, 1, 2, 3, 4, 7, 16, 1000]) {
    for (const count of [1, 2, 3, 8]) assert.equal(sum(each(count).map((one) => shareOf(total, one))), total);
  }
});

test("the processes of a service hold to its limits together", () => {
  const settings = { ...plain, concurrency: 7, waitingLine: 100, workers: 5 };
  const all = each(3).map((one) => settingsOfOne(settings, 4, one));
  assert.deepEqual(
    all.map(({ concurrency }) => concurrency),
    [3, 2, 2],
  );
  assert.equal(sum(all.map(({ waitingLine }) => waitingLine)), 100);
  assert.equal(sum(all.map(({ workers }) => workers)), 5);
  assert.equal(sum(all.map(({ verdictCache }) => verdictCache)), 50_000);
  assert.equal(sum(each(3).map((one) => settingsOfOne({ ...settings, verdictCache: 0 }, 4, one).verdictCache)), 0);
  const byEngine = each(2).map((one) => settingsOfOne(plain, 16, one));
  assert.deepEqual(
    byEngine.map(({ concurrency, waitingLine, workers }) => [concurrency, waitingLine, workers]),
    [
      [8, 128, 8],
      [8, 128, 8],
    ],
  );
});

test("a process without a share of the jobs runs none, and all have a slot and a line", () => {
  const all = each(3).map((one) => settingsOfOne({ ...plain, workers: 1, waitingLine: 1 }, 4, one));
  assert.deepEqual(
    all.map(({ role }) => role),
    ["all", "api", "api"],
  );
  assert.ok(all.every(({ concurrency, waitingLine }) => concurrency >= 1 && waitingLine >= 1));
});

test("there are no more processes than slots", () => {
  assert.equal(mostProcesses(plain, 4), 4);
  assert.equal(mostProcesses({ ...plain, role: "worker", workers: 9 }, 4), 9);
});

test("scan threads are as many as cores, or a few more", () => {
  const threads = [1, 2, 3, 4].map((of) => threadsOf({ number: 1, of }, 8));
  assert.deepEqual(threads, [8, 4, 3, 2]);
});

test("a process that dies is started at once, and later each time when it keeps dying", () => {
  assert.deepEqual([0, 1, 2, 3, 4, 7, 8, 50].map(restartSeconds), [0, 0, 1, 2, 4, 30, 30, 30]);
});
