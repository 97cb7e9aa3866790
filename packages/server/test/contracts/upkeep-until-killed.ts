/**
 * As queue-until-killed.ts, with large jobs that come and go in waves, each a day after the one before: so there are always
 * results that are over, and pages to give back.
 */
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { cleanReport, sampleJob, traced } from "./sample-job.ts";

const WAVE = 600;
const LARGE = "x".repeat(16_000);

let now = Date.now();
const { queue, results } = await openJobStore(process.argv[2] ?? "", { now: () => now });

async function add(): Promise<void> {
  const job = sampleJob({ customData: LARGE });
  await queue.add(job);
  say("added", job.id);
}

async function finishAll(): Promise<void> {
  for (;;) {
    const leases = await queue.take(50);
    if (leases.length === 0) return;
    await Promise.all(
      leases.map(async (lease) => {
        const { id: jobId, traceId = "", submittedAt } = lease.job;
        await results.keep({ ...traced(traceId), jobId, submittedAt }, cleanReport);
        say("finishing", jobId);
        if (await lease.settle({ kind: "done", job: lease.job })) say("finished", jobId);
      }),
    );
  }
}

/** Pipes are written before this returns. */
function say(what: string, id: string): void {
  process.stdout.write(`${what} ${id}\n`);
}

for (;;) {
  await Promise.all(Array.from({ length: WAVE }, add));
  await finishAll();
  now += 86_400_000;
}
