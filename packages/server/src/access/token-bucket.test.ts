import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LONGEST_DEBT_SECONDS, tokenBucket } from "./token-bucket.ts";

/** How many of those that come at these times are let through. */
function passed(perSecond: number, times: readonly number[]): number {
  const bucket = tokenBucket(0, perSecond);
  let through = 0;
  for (const time of times) {
    if (bucket.waitMs(time) > 0) continue;
    bucket.take(time, 1);
    through += 1;
  }
  return through;
}

const every = (ms: number, count: number): number[] => Array.from({ length: count }, (_, index) => index * ms);

test("lets through a second's worth at once, then the rate", () => {
  for (const [perSecond, times, expected] of [
    [10, every(0, 50), 10],
    [10, every(100, 50), 50],
    [10, every(50, 41), 30],
    [1, every(0, 5), 1],
    [1, every(500, 5), 3],
    // Less than one in a second: one at once, the next when it is due.
    [0.5, every(0, 5), 1],
    [0.5, every(1000, 5), 3],
    [0.1, [0, 9999, 10_000, 19_999, 20_000], 3],
    [2.5, every(0, 9), 2],
    [1_000_000, every(0, 10), 10],
  ] as const) {
    assert.equal(passed(perSecond, times), expected, `${perSecond} per second at ${times.slice(0, 3)}…`);
  }
});

test("never lets through more than the rate and one burst, whenever requests come, and says truly how long to wait", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 200 });
  fc.assert(
    fc.property(fc.double({ min: 0.05, max: 500, noNaN: true }), steps, (perSecond, waits) => {
      const bucket = tokenBucket(0, perSecond);
      let [now, through] = [0, 0];
      for (const wait of waits) {
        now += wait;
        const waitMs = bucket.waitMs(now);
        assert.ok(waitMs >= 0 && waitMs <= 1000 / perSecond + 1e-6);
        if (waitMs > 0) {
          now += Math.ceil(waitMs);
          assert.equal(bucket.waitMs(now), 0, "whoever waits as told goes through");
        }
        bucket.take(now, 1);
        through += 1;
        assert.ok(through <= Math.max(1, perSecond) + (now * perSecond) / 1000 + 1e-6);
      }
    }),
    { numRuns: 200 },
  );
});

test("a clock that is set back or far forward brings no more than one burst", () => {
  const bucket = tokenBucket(1_000_000, 5);
  bucket.take(1_000_000, 5);
  assert.ok(bucket.waitMs(0) > 0);
  assert.equal(Math.round(bucket.waitMs(0)), 200, "nobody waits for the time to come back");
  assert.equal(bucket.waitMs(200), 0);
  bucket.take(200, 1);
  const later = 200 + 10 * 365 * 86_400_000;
  assert.equal(bucket.waitMs(later), 0);
  bucket.take(later, 5);
  assert.ok(bucket.waitMs(later) > 0);
});

test("what others let through is paid back, up to a limit", () => {
  const bucket = tokenBucket(0, 10);
  bucket.take(0, 30);
  assert.equal(bucket.waitMs(0), 2100);
  bucket.take(0, 1e12);
  assert.equal(bucket.waitMs(0), LONGEST_DEBT_SECONDS * 1000 + 100);
});

test("a rate that changes holds from then on, and gives no burst of its own", () => {
  const bucket = tokenBucket(0, 10);
  bucket.take(0, 10);
  bucket.change(0, 1000);
  assert.equal(bucket.waitMs(0), 1);
  bucket.change(1000, 2);
  assert.equal(bucket.waitMs(1000), 0);
  bucket.take(1000, 2);
  assert.equal(bucket.waitMs(1000), 500);
});

test("what ran over in the last 4 seconds is there for others", () => {
  const bucket = tokenBucket(0, 10);
  bucket.takeForOthers(60_000, 40);
  assert.equal(bucket.waitMs(60_000), 0);
  bucket.take(60_000, 9);
  assert.equal(bucket.waitMs(60_000), 0);
  bucket.takeForOthers(60_000, 11);
  assert.equal(Math.round(bucket.waitMs(60_000)), 1100);
  // It is not there for oneself.
  const own = tokenBucket(0, 10);
  own.take(60_000, 10);
  assert.equal(Math.round(own.waitMs(60_000)), 100);
});
