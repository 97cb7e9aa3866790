import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lane, waitSeconds } from "./lane.ts";

function told() {
  const clock = { now: 1_000_000 };
  return { clock, lane: lane({ atOnce: 8, now: () => clock.now, random: () => 0 }) };
}

type Told = ReturnType<typeof told>["lane"];

function fail(lane: Told, times: number): void {
  for (let count = 0; count < times; count += 1) {
    lane.began();
    lane.ended("failed");
  }
}

test("the waits are 5 s, doubled up to 10 minutes", () => {
  const waits = Array.from({ length: 10 }, (_, index) => waitSeconds(index + 1, () => 0));
  assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test("a wait is shortened by a fifth at most, however often it failed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, random) => {
        const longest = waitSeconds(failures, () => 0);
        const wait = waitSeconds(failures, () => random);
        assert.ok(wait <= longest && wait >= longest * 0.8 - 1e-9 && longest <= 600);
      },
    ),
  );
});

test("eight messages at once go to one receiver", () => {
  const { lane } = told();
  assert.equal(lane.room(), 8);
  for (let count = 0; count < 8; count += 1) lane.began();
  assert.equal(lane.room(), 0);
  lane.ended("sent");
  lane.ended("failed");
  lane.ended("untried");
  assert.equal(lane.room(), 3);
});

test("a receiver that failed eight times in a row is tried with one message after ever longer rests", () => {
  const { lane, clock } = told();
  fail(lane, 7);
  assert.equal(lane.room(), 8);
  fail(lane, 1);
  for (const seconds of [5, 10, 20]) {
    assert.equal(lane.room(), 0);
    clock.now += seconds * 1000 - 1;
    assert.equal(lane.room(), 0);
    clock.now += 1;
    assert.equal(lane.room(), 1);
    lane.began();
    assert.equal(lane.room(), 0);
    lane.ended("failed");
  }
  clock.now += 40_000;
  lane.began();
  lane.ended("sent");
  assert.equal(lane.room(), 8);
});

test("a message that the receiver refuses among others that it takes does not stop it", () => {
  const { lane } = told();
  for (let count = 0; count < 100; count += 1) {
    fail(lane, 7);
    lane.began();
    lane.ended("sent");
    assert.equal(lane.room(), 8);
  }
});

test("a clock that is set back ends the rest", () => {
  const { lane, clock } = told();
  fail(lane, 20);
  assert.equal(lane.room(), 0);
  clock.now -= 1;
  assert.equal(lane.room(), 1);
});
