import assert from "node:assert/strict";
import { test } from "node:test";
import { repeated } from "./repeated.ts";

const NEVER_MS = 2 ** 31 - 1;

test("what is due is done when somebody catches up, once for all who do, and not before", async () => {
  let [now, times] = [0, 0];
  const held = Promise.withResolvers<void>();
  const work = async (): Promise<void> => {
    times += 1;
    if (times === 1) await held.promise;
  };
  using each = repeated(work, { everyMs: NEVER_MS, onFailure: assert.fail, now: () => now });
  await each.catchUp();
  assert.equal(times, 0);
  now = NEVER_MS;
  const both = [each.catchUp(), each.catchUp()];
  held.resolve();
  await Promise.all(both);
  await each.catchUp();
  assert.equal(times, 1);
  now = -1;
  await each.catchUp();
  assert.equal(times, 2, "a clock that was set back puts nothing off");
});

test("a failure is said, and the next time is tried again", async () => {
  let now = 0;
  const failures: string[] = [];
  const work = async (): Promise<void> => {
    throw new Error("away");
  };
  const onFailure = ({ message }: Error): void => void failures.push(message);
  using each = repeated(work, { everyMs: NEVER_MS, onFailure, now: () => now });
  for (now = NEVER_MS; failures.length < 2; now += NEVER_MS) await each.catchUp();
  assert.deepEqual(failures, ["away", "away"]);
});
