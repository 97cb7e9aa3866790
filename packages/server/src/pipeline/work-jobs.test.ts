import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { Busy, EngineUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import type { JobQueue } from "../queue/job-queue.ts";
import { places } from "../queue/places.ts";
import type { Engine } from "../scan/engine.ts";
import type { Stages } from "./inspect.ts";
import { SLOW_AT_ONCE, SLOW_PER_SHARE } from "./limits.ts";
import type { JobStages } from "./run-job.ts";
import { workJobs } from "./work-jobs.ts";

const clean: Report = { verdict: { kind: "clean" }, sizeBytes: 1, downloadSeconds: 0, scanSeconds: 0 };

/** A queue with these jobs, each given out once, and what becomes of them. */
function queueOf(...jobs: Job[]) {
  const settled: Settlement[] = [];
  let taken = 0;
  const queue = {
    async take(limit: number) {
      const given = jobs.splice(0, limit);
      taken += given.length;
      return given.map((job) => ({
        job,
        attempt: 1,
        extend: async () => true,
        save: async () => true,
        settle: async (settlement: Settlement) => settled.push(settlement) > 0,
      }));
    },
    wait: (signal: AbortSignal) =>
      new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
  } as unknown as JobQueue;
  return { queue, jobs, settled, taken: () => taken };
}

/** A scan of one byte that is clean, unless the engine has a fault. */
function scanOf(fault = (): Error | undefined => undefined): Stages {
  const engine: Pick<Engine, "scan"> = {
    async scan(bytes) {
      const error = fault();
      if (error) throw error;
      await Array.fromAsync(bytes);
      return { kind: "clean" };
    },
  };
  async function* one(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
  }
  return { open: async () => ({ bytes: one() }), engine: engine as Engine, now: () => 0 };
}

function work(queue: JobQueue, stages: Partial<JobStages>, engineReady: () => Promise<boolean>) {
  const all = {
    reportEventBus: false,
    limits: { maxBytes: 100 },
    announcer: { downloadScan: async () => {} },
    results: { keep: async () => {} },
    keepFinding: async () => {},
    now: () => 0,
    ...stages,
  } as JobStages;
  const say = log({ level: "error", format: "json", write: () => {} });
  return workJobs({ queue, stages: all, engineReady, jobsAtOnce: 1, spareJobs: 0, log: say });
}

test("while the engine is down no job is taken; one that it failed over for another reason keeps nobody waiting", async () => {
  const { callback: _, ...job } = sampleJob();
  const { queue, jobs, settled, taken } = queueOf(job);
  let ready = false;
  let asked = 0;
  const faults = [
    new EngineUnavailable("cannot reach clamd"),
    new EngineUnavailable("it died", { whileScanning: true }),
  ];
  const worker = work(queue, { scan: scanOf(() => faults.shift()) }, async () => {
    asked += 1;
    return ready;
  });
  try {
    await until("the job was put back", () => settled.length === 1);
    jobs.push({ ...job, id: "second" }, { ...job, id: "third" });
    await until("the engine was asked again", () => asked >= 2);
    assert.equal(taken(), 1, "no job is taken meanwhile");
    ready = true;
    await until("the rest is done", () => settled.length === 3);
    const [first, second] = settled;
    assert.ok(first?.kind === "again" && second?.kind === "again");
    assert.deepEqual([first.job.failedScans, second.job.failedScans, settled[2]?.kind], [0, 1, "done"]);
  } finally {
    await worker.stop(0);
  }
});

for (const [words, busy, seconds] of [
  ["15 s", new Busy("too many deliver already"), 15],
  ["as long as that takes where it is known", new Busy("too many wait for it already", { backInSeconds: 0.3 }), 0.3],
] as const) {
  test(`a job for which there is no room is put back for ${words}, as far as it got, and no try is counted`, async () => {
    const job = sampleJob();
    const { queue, settled } = queueOf(job);
    const callbacks = { send: () => Promise.reject(busy) };
    const worker = work(queue, { scan: scanOf(), callbacks }, async () => true);
    try {
      await until("it is put back", () => settled.length === 1);
      const [next] = settled;
      assert.ok(next?.kind === "again");
      assert.deepEqual([next.afterSeconds, next.job.told, next.job.report], [seconds, true, clean]);
      assert.deepEqual([next.job.failedCallbacks, next.job.failedRuns], [0, 0]);
    } finally {
      await worker.stop(0);
    }
  });
}

test("three tenants whose sources drip leave a fourth places to wait for a source that is only slow", () => {
  const { enter } = places(
    { jobsAtOnce: 1, deliveriesAtOnce: 1, slowAtOnce: SLOW_AT_ONCE, slowPerShare: SLOW_PER_SHARE },
    () => 1,
  );
  for (const share of ["one", "two", "three"]) {
    for (let count = 0; count < SLOW_PER_SHARE; count += 1) enter(share, () => {}).toWait();
    const further = enter(share, () => {});
    assert.throws(() => further.toWait(), Busy);
    further.leave();
  }
  enter("four", () => {}).toWait();
});
