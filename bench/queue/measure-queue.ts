import { join } from "node:path";
import type { BenchOptions } from "../arguments.ts";
import { sample } from "../sample.ts";
import { loopback } from "./loopback.ts";
import { measureJobs, showJobMemory } from "./measure-jobs.ts";
import { measureSubmits } from "./measure-submits.ts";
import { measureMillion } from "./million.ts";
import { showSyncs } from "./show-syncs.ts";
import { type SideOptions, withSides } from "./sides.ts";

export const FILE_BYTES = 4096;
export const JOBS_AT_ONCE = 16;

/** Lazaret's queue, and BullMQ on a Redis that is as durable, with the same work to do. */
export async function measureQueue({ folder, clamd, pace }: BenchOptions): Promise<void> {
  const net = await loopback(sample(FILE_BYTES));
  const options = (name: string, more: Pick<SideOptions, "jobsAtOnce" | "signed">): SideOptions => ({
    folder: join(folder, name),
    clamdSocket: clamd.socketPath,
    ...more,
  });
  const jobs = { loopback: net, clamdPid: clamd.pid, pace, jobsAtOnce: JOBS_AT_ONCE };
  try {
    await withSides(options("submits", { jobsAtOnce: 0 }), (sides) => measureSubmits(sides, net, pace));
    await showSyncs(options("syncs", { jobsAtOnce: 0 }), net);
    await withSides(options("signed", { jobsAtOnce: JOBS_AT_ONCE, signed: true }), (sides) =>
      measureJobs(sides, { ...jobs, jobs: pace.signedJobs, signed: true, title: "jobs with signed callbacks" }),
    );
    await withSides(options("jobs", { jobsAtOnce: JOBS_AT_ONCE }), async (sides) => {
      await measureJobs(sides, { ...jobs, jobs: pace.jobs, signed: false, title: "jobs" });
      await showJobMemory(sides, { ...jobs, jobs: pace.jobs, signed: false });
    });
    await measureMillion({ folder, many: pace.waiting, rounds: pace.waitingRounds });
  } finally {
    await net.close();
  }
}
