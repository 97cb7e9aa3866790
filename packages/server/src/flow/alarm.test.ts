import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { alarm } from "./alarm.ts";

const never = new AbortController().signal;
const LONG_MS = 600_000;

test("a ring wakes everybody who sleeps, and is counted", async () => {
  const bell = alarm();
  const sleeping = [bell.sleep(LONG_MS, never), bell.sleep(LONG_MS, never)];
  assert.equal(bell.rings, 0);
  bell.ring();
  await Promise.all(sleeping);
  assert.equal(bell.rings, 1);
});

test("who falls asleep after a ring sleeps on", async () => {
  const bell = alarm();
  bell.ring();
  let awake = false;
  const sleeping = bell.sleep(LONG_MS, never).then(() => {
    awake = true;
  });
  await new Promise(setImmediate);
  assert.equal(awake, false);
  bell.ring();
  await sleeping;
});

test("a sleeper wakes when the time is up or the signal aborts, and leaves no listener behind", async () => {
  const bell = alarm();
  const stop = new AbortController();
  await bell.sleep(1, stop.signal);
  assert.equal(getEventListeners(stop.signal, "abort").length, 0);
  const sleeping = bell.sleep(LONG_MS, stop.signal);
  stop.abort();
  await sleeping;
  await bell.sleep(LONG_MS, stop.signal);
  assert.equal(getEventListeners(stop.signal, "abort").length, 0);
  assert.equal(bell.rings, 0);
});

test("when it is stopped everybody wakes, and nobody sleeps any more", async () => {
  const bell = alarm();
  const sleeping = bell.sleep(LONG_MS, never);
  bell.stop();
  await sleeping;
  await bell.sleep(LONG_MS, never);
});
