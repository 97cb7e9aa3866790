import assert from "node:assert/strict";
import { test } from "node:test";
import { UnavailableError, UnreachableError } from "./errors.ts";
import { type Poll, waitForResult } from "./wait-for-result.ts";

const unreachable = new UnreachableError("the server is away", { code: "unreachable" });
const unavailable = new UnavailableError("the server is busy", { code: "busy" });

/** Each poll takes the next outcome, then the last for ever. */
function polls(...outcomes: (Awaited<ReturnType<Poll>> | Error)[]): Poll & { count: number } {
  const poll = async (): ReturnType<Poll> => {
    poll.count += 1;
    const outcome = outcomes[Math.min(poll.count, outcomes.length) - 1];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  poll.count = 0;
  return poll;
}

const quick = { firstDelayMs: 1, longestDelayMs: 2 };

test("polls until there is a result", async () => {
  const poll = polls(undefined, undefined, { status: "no", finding: "scanner:timeout" });
  assert.deepEqual(await waitForResult(poll, "t", quick), { status: "no", finding: "scanner:timeout" });
  assert.equal(poll.count, 3);
});

test("a server that has answered once may be away for a while", async () => {
  const poll = polls(undefined, unreachable, unavailable, unreachable, { status: "clean" });
  assert.deepEqual(await waitForResult(poll, "t", quick), { status: "clean" });
});

test("a time limit that passes while the server is away says so", async () => {
  const waiting = waitForResult(polls(undefined, unreachable), "t", { ...quick, timeoutMs: 100 });
  await assert.rejects(waiting, /within 0\.1 s; the last poll failed: the server is away/);
});

test("what does not pass ends the waiting at once", async () => {
  const broken = new Error("broken");
  const poll = polls(undefined, broken);
  await assert.rejects(waitForResult(poll, "t", quick), broken);
  assert.equal(poll.count, 2);
  await assert.rejects(waitForResult(polls(unreachable), "t", quick), unreachable);
});

test("the time limit also ends a poll that hangs, and a signal both", async () => {
  const hanging: Poll = (_, signal) =>
    new Promise((__, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  await assert.rejects(waitForResult(hanging, "t", { timeoutMs: 20 }), { code: "result_timeout" });
  const controller = new AbortController();
  const waiting = waitForResult(hanging, "t", { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});
