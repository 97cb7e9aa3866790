import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { JobQueue, Lease } from "./job-queue.ts";
import { startWorker } from "./worker.ts";

test("a trial that ended while the queue was away is taken back when it is there again", async () => {
  let away = false;
  let written: Job = sampleJob({ suspect: true, failedTrials: 2 });
  let settlements = 0;
  const write = async (job: Job): Promise<boolean> => {
    if (away) throw new QueueUnavailable("away");
    written = job;
    return true;
  };
  const lease: Lease = {
    job: written,
    attempt: 1,
    extend: async () => true,
    save: write,
    async settle(settlement) {
      settlements += 1;
      assert.ok(settlement.kind === "again");
      return await write(settlement.job).finally(() => {
        away = false;
      });
    },
  };
  const leases = [lease];
  const queue: JobQueue = {
    add: async () => {},
    take: async (limit) => leases.splice(0, limit),
    wait: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    unfinished: async () => undefined,
    counts: async () => ({ ready: 0, delayed: 0, leased: 0, buried: 0, oldestSeconds: 0 }),
  };
  const worker = startWorker({
    queue,
    async run(run) {
      await run.beginTrial();
      assert.equal(written.failedTrials, 3);
      away = true;
      throw new QueueUnavailable("away");
    },
    jobsAtOnce: 1,
    deliveriesAtOnce: 1,
    log: log({ level: "error", format: "json", write: () => {} }),
  });
  await until("it is settled", () => settlements > 0 && worker.running === 0);
  await worker.stop(0);
  assert.deepEqual([written.failedTrials, settlements], [2, 2]);
});
