import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { test } from "node:test";
import { firstOf, timeLimit } from "./time-limit.ts";

test("when the time is up, the signal aborts as the system's own does, and says so", async () => {
  using limit = timeLimit(1);
  assert.equal(limit.expired, false);
  await once(limit.signal, "abort");
  const system = AbortSignal.timeout(0);
  if (!system.aborted) await once(system, "abort");
  const { name, message, code } = limit.signal.reason;
  assert.deepEqual(
    { name, message, code },
    { name: system.reason.name, message: system.reason.message, code: "ETIMEDOUT" },
  );
  assert.equal(limit.expired, true);
});

test("what ended before the time was up has not expired", async () => {
  const given = new AbortController();
  using limit = timeLimit(1, given.signal);
  const gone = new Error("client gone");
  given.abort(gone);
  assert.equal(limit.signal.reason, gone);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual([limit.signal.reason, limit.expired], [gone, false]);
});

test("a limit that is over leaves no timer and no listener behind", () => {
  const given = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  {
    using _ = timeLimit(60_000, given.signal);
    assert.equal(timers(), before + 1);
    assert.equal(getEventListeners(given.signal, "abort").length, 1);
  }
  assert.equal(timers(), before);
  assert.equal(getEventListeners(given.signal, "abort").length, 0);
});

test("the first of several signals ends it for its reason, also one that was aborted before", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  using first = firstOf([one.signal, other.signal]);
  assert.equal(first.signal.aborted, false);
  other.abort("other");
  one.abort("one");
  assert.equal(first.signal.reason, "other");
  using later = firstOf([new AbortController().signal, one.signal, other.signal]);
  assert.equal(later.signal.reason, "one");
});

test("nobody holds on to a signal that was disposed of", () => {
  const signals = [new AbortController().signal, new AbortController().signal];
  {
    using _ = firstOf(signals);
    assert.deepEqual(
      signals.map((signal) => getEventListeners(signal, "abort").length),
      [1, 1],
    );
  }
  assert.deepEqual(
    signals.map((signal) => getEventListeners(signal, "abort").length),
    [0, 0],
  );
});
