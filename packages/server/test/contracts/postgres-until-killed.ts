/**
 * Adds, takes, saves and settles jobs until it is killed, though the server may be away meanwhile. Says what it is about to do
 * and what was acknowledged: `added`, `finishing`, `finished`, each with the id of the job.
 */
import { setTimeout as pause } from "node:timers/promises";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { type JobStore, openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { cleanReport, sampleJob } from "./sample-job.ts";

const { secretKey, ...options } = JSON.parse(process.argv[2] ?? "");
const { queue } = await opened();

/** The server may be away already: another process was quicker, and has added enough. */
async function opened(): Promise<JobStore> {
  for (;;) {
    try {
      return await openJobStore({ ...options, secretKey: Buffer.from(secretKey, "hex") });
    } catch (error) {
      if (!(error instanceof QueueUnavailable)) throw error;
      await pause(100);
    }
  }
}

async function addOne(): Promise<void> {
  const job = sampleJob();
  await queue.add(job);
  say("added", job.id);
}

async function workOnce(): Promise<void> {
  for (const lease of await queue.take(2)) {
    await lease.save({ ...lease.job, report: cleanReport });
    say("finishing", lease.job.id);
    if (await lease.settle({ kind: "done", job: lease.job })) say("finished", lease.job.id);
  }
}

/** As a worker does: what cannot be written now is tried again. */
async function forever(work: () => Promise<void>): Promise<never> {
  for (;;) {
    await work().catch(async (error) => {
      if (!(error instanceof QueueUnavailable)) throw error;
      await pause(100);
    });
  }
}

/** Pipes are written before this returns. */
function say(what: string, id: string): void {
  process.stdout.write(`${what} ${id}\n`);
}

await Promise.race([...Array.from({ length: 6 }, () => forever(addOne)), forever(workOnce)]);
