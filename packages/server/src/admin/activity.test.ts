import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminScan } from "@lazaret/contract/admin";
import { activity } from "./activity.ts";

const queue = { queued: 0, under_way: 0, retrying: 0, done: 0, dead: 0, oldest_seconds: 0 };
const START = 1_790_000_000_000;

test("scans are counted by verdict and second, and forgotten after an hour and after a day", () => {
  let now = START;
  const seen = activity(() => now);
  seen.scanned({ verdict: "clean", ms: 10 });
  seen.scanned({ verdict: "infected", ms: 10 });
  now += 1000;
  seen.scanned({ verdict: "no", ms: 10 });
  const { points, last_day, step_seconds } = seen.show("15m", queue);
  assert.equal(points.length, 900);
  assert.equal(step_seconds, 1);
  assert.deepEqual(points.at(-1), { at: now, clean: 0, infected: 0, no: 1 });
  assert.deepEqual(points.at(-2), { at: START, clean: 1, infected: 1, no: 0 });
  assert.deepEqual(last_day, { scanned: 3, clean: 1, infected: 1, no: 1, p95_ms: 12 });

  now = START + 3_600_000 + 1000;
  const hour = seen.show("1h", queue);
  assert.equal(
    hour.points.reduce((sum, { clean, infected, no }) => sum + clean + infected + no, 0),
    0,
  );
  assert.equal(hour.last_day.scanned, 3);
  now = START + 86_400_000 + 60_000;
  assert.equal(seen.show("24h", queue).last_day.scanned, 0);
  assert.equal(seen.p95Ms(), undefined);
});

test("of a hundred scans the slowest five are above the p95", () => {
  const seen = activity(() => START);
  for (let number = 1; number <= 95; number += 1) seen.scanned({ verdict: "clean", ms: 8 });
  for (let number = 1; number <= 5; number += 1) seen.scanned({ verdict: "clean", ms: 60_000 });
  const p95 = seen.p95Ms() ?? 0;
  assert.ok(p95 >= 8 && p95 < 12, String(p95));
  seen.scanned({ verdict: "clean", ms: 60_000 });
  assert.ok((seen.p95Ms() ?? 0) >= 60_000);
});

test("the newest 200 scans without a job are kept", () => {
  const seen = activity(() => START);
  for (let number = 0; number < 250; number += 1) seen.noteScan({ id: String(number) } as AdminScan);
  const { recent } = seen.show("15m", queue);
  assert.equal(recent.length, 200);
  assert.equal(recent[0]?.id, "249");
});

test("failures of the engine are counted for a day", () => {
  let now = START;
  const seen = activity(() => now);
  seen.failed();
  seen.failed();
  assert.equal(seen.errorsOfDay(), 2);
  now += 86_400_000 + 60_000;
  assert.equal(seen.errorsOfDay(), 0);
});
