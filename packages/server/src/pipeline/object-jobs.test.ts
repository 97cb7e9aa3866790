import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import type { Job } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { done, type Settlement } from "../model/settlement.ts";
import type { JobRun } from "../queue/worker.ts";
import { type JobStages, runJob } from "./run-job.ts";

const seen = { bucket: "uploads", key: "bad.exe", version: "3", mark: "abc" };
const infected: Report = {
  verdict: { kind: "infected", finding: "Test" },
  sizeBytes: 68,
  downloadSeconds: 0,
  scanSeconds: 0,
  object: seen,
};

/** A run that tells what was done, in order. `act` may be replaced. */
function tried(parts: Partial<JobStages> = {}) {
  const steps: string[] = [];
  const saved: Job[] = [];
  const stages: JobStages = {
    reportEventBus: false,
    async inspect() {
      steps.push("scan");
      return infected;
    },
    async act(_, __, { stale }) {
      steps.push(stale ? "act late" : "act");
      return { action: "delete", changed: false };
    },
    async actInstead() {
      steps.push("act instead");
      return "tag";
    },
    async announce({ action }) {
      steps.push(`tell ${action}`);
    },
    async keep() {
      steps.push("keep");
    },
    async recordFailure() {
      steps.push("record");
    },
    async callBack() {
      steps.push("call back");
      return { delivered: true };
    },
    ...parts,
  };
  const run = (job: Job): Promise<Settlement> => {
    const jobRun: JobRun = {
      job,
      progress: job,
      async save(progress) {
        saved.push(progress);
        steps.push(`save${progress.told ? " told" : ""}`);
      },
      scanSignal: new AbortController().signal,
      place: { leave: () => {}, retake: async () => {} },
      delivering: () => steps.push("deliver"),
      note: () => {},
    };
    return runJob(jobRun, stages, new AbortController().signal);
  };
  return { steps, saved, run };
}

describe("a job about an object", () => {
  const { callback: _, ...polled } = sampleJob({
    source: { kind: "object", bucket: "uploads", key: "bad.exe" },
  });

  test("has its report saved before the object is touched, and is told together with that fact", async () => {
    const { steps, run } = tried();
    assert.deepEqual(await run(polled), done);
    assert.deepEqual(steps, ["scan", "save", "act", "keep", "tell delete", "save told"]);
  });

  test("that died after the delete is not scanned again: the file is gone, the verdict is not", async () => {
    const first = tried();
    await first.run(polled);
    const second = tried();
    assert.deepEqual(await second.run(first.saved[0] ?? polled), done);
    assert.deepEqual(second.steps, ["act late", "keep", "tell delete", "save told"]);
  });

  test("is not told of when telling fails, and then tells again", async () => {
    const failing = tried({ announce: () => Promise.reject(new Error("the topic is away")) });
    await assert.rejects(failing.run(polled), /the topic is away/);
    assert.deepEqual(
      failing.saved.map(({ told }) => told),
      [undefined],
    );
  });

  test("that was replaced while it was scanned is kept and told as not scanned, not as clean", async () => {
    const { version: _, ...unversioned } = seen;
    const clean: Report = { ...infected, verdict: { kind: "clean" }, object: unversioned };
    const kept: Report[] = [];
    const replaced = tried({
      inspect: async () => clean,
      act: async () => ({ action: "no", changed: true }),
      keep: async ({ report }) => void kept.push(report),
    });
    assert.deepEqual(await replaced.run(polled), done);
    assert.deepEqual([kept[0]?.verdict.kind, replaced.saved[1]?.report?.verdict.kind], ["unscannable", "unscannable"]);
  });

  test("that was told is not acted on again when its callback is repeated", async () => {
    const { steps, run } = tried();
    await run({ ...sampleJob({ source: polled.source }), report: infected, action: "tag", told: true });
    assert.deepEqual(steps, ["deliver", "call back"]);
  });

  test("whose tag fails is tried again after 5, 10 and 15 s, then something else is tried and told, with the same verdict", async () => {
    const told: Job[] = [];
    const failing = tried({
      act: () => Promise.reject(new Error("cannot tag the object")),
      announce: async (job) => void told.push(job),
    });
    let job: Job = { ...polled, report: infected };
    for (const seconds of [5, 10, 15]) {
      const next = await failing.run(job);
      assert.ok(next.kind === "again");
      assert.deepEqual([next.afterSeconds, next.job.report], [seconds, infected]);
      job = next.job;
      assert.deepEqual(told, []);
    }
    assert.deepEqual(await failing.run(job), done);
    assert.deepEqual([told[0]?.action, told[0]?.report], ["tag", infected]);
  });
});
