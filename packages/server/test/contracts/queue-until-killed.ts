/**
 * Adds, takes, saves and settles jobs until it is killed. Says what it is about to do and what was acknowledged:
 * `added`, `finishing`, `finished`, each with the id of the job.
 */
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { cleanReport, sampleJob } from "./sample-job.ts";

const { queue } = await openJobStore(process.argv[2] ?? "");

async function addForever(): Promise<never> {
  for (;;) {
    const job = sampleJob();
    await queue.add(job);
    say("added", job.id);
  }
}

async function workForever(): Promise<never> {
  for (;;) {
    for (const lease of await queue.take(2)) {
      await lease.save({ ...lease.job, report: cleanReport });
      say("finishing", lease.job.id);
      if (await lease.settle({ kind: "done", job: lease.job })) say("finished", lease.job.id);
    }
  }
}

/** Pipes are written before this returns. */
function say(what: string, id: string): void {
  process.stdout.write(`${what} ${id}\n`);
}

await Promise.race([...Array.from({ length: 6 }, addForever), workForever()]);
