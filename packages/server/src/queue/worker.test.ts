import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { Busy } from "../model/faults.ts";
import { done, type Settlement } from "../model/settlement.ts";
import type { JobQueue, Lease } from "./job-queue.ts";
import { type JobRun, LeaseLost, startWorker, type WorkerOptions } from "./worker.ts";

/** A queue that hands out leases as it is given them, and records what becomes of them. */
function queueOf(count: number, lease: Partial<Lease> = {}) {
  const settled: Settlement[] = [];
  const waiting = Array.from({ length: count }, (): Lease => {
    const settle = async (settlement: Settlement): Promise<boolean> => {
      settled.push(settlement);
      return true;
    };
    return { job: sampleJob(), attempt: 1, extend: async () => true, save: async () => true, settle, ...lease };
  });
  const queue: JobQueue = {
    add: async () => {},
    take: async (limit) => waiting.splice(0, limit),
    wait: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    counts: async () => ({ ready: 0, delayed: 0, leased: 0, buried: 0, oldestSeconds: 0 }),
  };
  return { queue, settled, waiting };
}

function workerOn(queue: JobQueue, run: WorkerOptions["run"], options: Partial<WorkerOptions> = {}) {
  const lines: Record<string, unknown>[] = [];
  const say = log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  return { worker: startWorker({ queue, run, jobsAtOnce: 2, deliveriesAtOnce: 10, log: say, ...options }), lines };
}

test("no more jobs scan at once than there are slots", async () => {
  const { queue, settled, waiting } = queueOf(6);
  const finish: (() => void)[] = [];
  const { worker } = workerOn(queue, () => new Promise((resolve) => finish.push(() => resolve(done))));
  await until("two run", () => finish.length === 2);
  assert.deepEqual([worker.running, waiting.length], [2, 4]);
  while (settled.length < 6) {
    finish.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await worker.stop(1000);
});

test("a job that only waits for its receiver leaves its slot to the next", async () => {
  const { queue, waiting } = queueOf(6);
  const finish: (() => void)[] = [];
  const deliver = (run: JobRun): Promise<Settlement> => {
    run.delivering();
    return new Promise((resolve) => finish.push(() => resolve(done)));
  };
  const { worker } = workerOn(queue, deliver);
  await until("all six deliver", () => finish.length === 6);
  assert.equal(waiting.length, 0);
  for (const end of finish) end();
  await worker.stop(1000);
});

test("beyond the limit of deliveries a job is told that it is too many, and scans go on", async () => {
  const { queue, settled } = queueOf(4);
  const finish: (() => void)[] = [];
  let busy = 0;
  const deliver = (run: JobRun): Promise<Settlement> => {
    try {
      run.delivering();
    } catch (error) {
      assert.ok(error instanceof Busy);
      busy += 1;
      return Promise.resolve(done);
    }
    return new Promise((resolve) => finish.push(() => resolve(done)));
  };
  const { worker } = workerOn(queue, deliver, { deliveriesAtOnce: 2 });
  await until("two are too many", () => busy === 2 && settled.length === 2);
  assert.equal(finish.length, 2);
  for (const end of finish) end();
  await worker.stop(1000);
});

test("a job whose lease was lost is stopped, and nothing is written", async () => {
  const { queue, settled } = queueOf(1, { extend: async () => false });
  const { worker, lines } = workerOn(
    queue,
    (_, signal) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    { leaseSeconds: 0.03 },
  );
  await until("it is logged", () => lines.length === 1);
  assert.deepEqual([settled, lines[0]?.settlement], [[], "lease lost"]);
  await worker.stop(1000);
});

test("a save without a lease throws, so that nothing is delivered twice", async () => {
  const { queue } = queueOf(1, { save: async () => false });
  let thrown: unknown;
  const { worker, lines } = workerOn(queue, async (run) => {
    await run.save(run.job).catch((error) => {
      thrown = error;
      throw error;
    });
    return done;
  });
  await until("it is logged", () => lines.length === 1);
  assert.ok(thrown instanceof LeaseLost);
  await worker.stop(1000);
});

test("a run that throws is put back for a while: the fault is ours, not the job's", async () => {
  const { queue, settled } = queueOf(1);
  const { worker, lines } = workerOn(queue, async () => {
    throw new Error("a bug");
  });
  await until("it is logged", () => lines.length === 1);
  const [settlement] = settled;
  assert.deepEqual([settlement?.kind, settlement?.kind === "again" && settlement.afterSeconds], ["again", 30]);
  assert.deepEqual([lines[0]?.settlement, lines[0]?.error, lines[0]?.level], ["fault", "a bug", "error"]);
  await worker.stop(1000);
});

test("on stop jobs under way finish within the grace time; the rest are put back as far as they got", async () => {
  const { queue, settled } = queueOf(1);
  const { worker } = workerOn(queue, async (run, signal) => {
    await run.save({ ...run.job, failedDownloads: 2 });
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  await until("it runs", () => worker.running === 1);
  await worker.stop(50);
  const [settlement] = settled;
  assert.ok(settlement?.kind === "again");
  assert.deepEqual([settlement.afterSeconds, settlement.job.failedDownloads], [0, 2]);
});

test("a queue that cannot be asked is asked again", async () => {
  const { queue, settled } = queueOf(1);
  let asked = 0;
  const flaky: JobQueue = {
    ...queue,
    async take(limit) {
      asked += 1;
      if (asked === 1) throw new Error("the disk is full");
      return queue.take(limit);
    },
  };
  const { worker, lines } = workerOn(flaky, async () => done);
  await until("the job is done", () => settled.length === 1);
  assert.equal(lines[0]?.error, "the disk is full");
  await worker.stop(1000);
});
