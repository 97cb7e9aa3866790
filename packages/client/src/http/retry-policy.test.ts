import assert from "node:assert/strict";
import { test } from "node:test";
import { retryAfterSeconds, waitBeforeRetryMs } from "./retry-policy.ts";

const waits = (random: number, retryAfter?: number): (number | undefined)[] =>
  [1, 2, 3, 4, 5, 6, 7, 8].map((failed) =>
    waitBeforeRetryMs({ failed, retries: 7, retryAfterSeconds: retryAfter }, random),
  );

test("each wait is twice the one before it, half to whole by chance, up to 8 seconds; then there are no more tries", () => {
  assert.deepEqual(waits(0), [125, 250, 500, 1000, 2000, 4000, 4000, undefined]);
  assert.deepEqual(waits(1), [250, 500, 1000, 2000, 4000, 8000, 8000, undefined]);
});

test("a server that names a time is left alone for at least that time", () => {
  assert.equal(waitBeforeRetryMs({ failed: 1, retries: 1, retryAfterSeconds: 5 }, 0), 5000);
  assert.equal(waitBeforeRetryMs({ failed: 1, retries: 1, retryAfterSeconds: 5 }, 1), 6250);
  assert.equal(waitBeforeRetryMs({ failed: 1, retries: 1, retryAfterSeconds: 0 }, 1), 0);
});

test("a server that names more than a minute is not waited for", () => {
  assert.notEqual(waitBeforeRetryMs({ failed: 1, retries: 3, retryAfterSeconds: 60 }, 0), undefined);
  assert.equal(waitBeforeRetryMs({ failed: 1, retries: 3, retryAfterSeconds: 61 }, 0), undefined);
});

test("without retries there is one try", () => {
  assert.equal(waitBeforeRetryMs({ failed: 1, retries: 0, retryAfterSeconds: 0 }, 0), undefined);
});

test("Retry-After is seconds or a date; what is neither counts as not there", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(retryAfterSeconds("5", now), 5);
  assert.equal(retryAfterSeconds(" 0 ", now), 0);
  assert.equal(retryAfterSeconds("Thu, 01 Jan 2026 00:00:30 GMT", now), 30);
  assert.equal(retryAfterSeconds("Wed, 31 Dec 2025 23:59:00 GMT", now), 0);
  for (const value of [null, "", "soon", "-1"]) assert.equal(retryAfterSeconds(value, now), undefined, String(value));
});
