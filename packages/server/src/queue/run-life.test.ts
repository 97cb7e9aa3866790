import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { FIRST_STEPS, type LifeStep, MOST_STEPS } from "../model/life.ts";
import type { Settlement } from "../model/settlement.ts";
import { buriedLife, runLife } from "./run-life.ts";

const submittedAt = 1_000_000;

function stepsOf(settlement: Settlement): readonly LifeStep[] {
  return settlement.job?.life?.steps ?? assert.fail("it has no life");
}

test("a run begins with how long the job has waited since it was due, and ends with what became of it", () => {
  const job = sampleJob({ submittedAt });
  const first = runLife({ job, attempt: 1 }, () => submittedAt + 500);
  first.record({ what: "downloaded", ms: 3 });
  const putBack = first.settled({ kind: "again", afterSeconds: 5, job, why: "HTTP_503" });
  assert.deepEqual(stepsOf(putBack), [
    { at: submittedAt + 500, what: "taken", ms: 500, attempt: 1 },
    { at: submittedAt + 500, what: "downloaded", ms: 3 },
    { at: submittedAt + 500, what: "put_back", ms: 5000, detail: "HTTP_503" },
  ]);
  assert.ok(putBack.job);
  const second = runLife({ job: putBack.job, attempt: 1 }, () => submittedAt + 5700);
  const done = second.settled({ kind: "done", job: putBack.job });
  assert.deepEqual(stepsOf(done).slice(3), [
    { at: submittedAt + 5700, what: "taken", ms: 200, attempt: 1 },
    { at: submittedAt + 5700, what: "done" },
  ]);
  const buried = second.settled({ kind: "buried", reason: "no use", job });
  assert.deepEqual(stepsOf(buried).at(-1), { at: submittedAt + 5700, what: "buried", detail: "no use" });
});

test("what is saved on the way has the steps so far: whoever takes the job after a crash goes on from them", () => {
  const job = sampleJob({ submittedAt });
  const died = runLife({ job, attempt: 1 }, () => submittedAt);
  died.record({ what: "scanned", detail: "clean" });
  const saved = died.of(job);
  died.record({ what: "told" });
  const next = runLife({ job: saved, attempt: 2 }, () => submittedAt + 30_000);
  const words = stepsOf(next.settled({ kind: "done", job: saved })).map(({ what, attempt }) => [what, attempt]);
  assert.deepEqual(words, [
    ["taken", 1],
    ["scanned", undefined],
    ["taken", 2],
    ["done", undefined],
  ]);
});

test("a job that is settled as done without being told of leaves nothing behind", () => {
  assert.deepEqual(runLife({ job: sampleJob(), attempt: 1 }, () => 0).settled({ kind: "done" }), { kind: "done" });
});

test("a life is bounded, whatever happens: the first steps stay, and the newest; so are the words of a step", () => {
  const job = sampleJob({ submittedAt });
  const life = runLife({ job, attempt: 1 }, () => submittedAt);
  for (let attempt = 1; attempt <= 100; attempt += 1)
    life.record({ what: "callback", attempt, detail: "x".repeat(999) });
  const { steps, leftOut } = life.of(job).life ?? assert.fail("it has no life");
  assert.equal(steps.length, MOST_STEPS);
  assert.equal(leftOut, 101 - MOST_STEPS);
  assert.deepEqual([steps[FIRST_STEPS - 1]?.attempt, steps.at(-1)?.attempt], [FIRST_STEPS - 1, 100]);
  assert.ok(steps.every(({ detail = "" }) => detail.length <= 200));
});

test("the life of a dead letter ends with why it was buried, also where the queue itself did it", () => {
  const taken = {
    steps: [
      { at: 1, what: "accepted" as const },
      { at: 2, what: "taken" as const },
    ],
    leftOut: 0,
  };
  const ended = buriedLife(taken, { buriedAt: 9, reason: "poison" });
  assert.deepEqual(ended.steps, [...taken.steps, { at: 9, what: "buried", detail: "poison" }]);
  assert.equal(buriedLife(ended, { buriedAt: 9, reason: "poison" }), ended);
  assert.equal(buriedLife(undefined, { buriedAt: 9, reason: "poison" }).steps.length, 1);
});
