import { join } from "node:path";
import { sample } from "../sample.ts";
import { loopback } from "./loopback.ts";
import { measureJobs } from "./measure-jobs.ts";
import { measureSubmits } from "./measure-submits.ts";
import { showSyncs } from "./show-syncs.ts";
import { type Side, type SideOptions, startLazaret, startPeer } from "./sides.ts";

export interface QueueBenchOptions {
  /** On a disk: what is synced in memory costs nothing. */
  folder: string;
  clamdSocket: string;
  clamdPid: number;
}

const FILE_BYTES = 4096;
const JOBS_AT_ONCE = 16;

/** Lazaret's queue, and BullMQ on a Redis that is as durable, with the same work to do. */
export async function measureQueue({ folder, clamdSocket, clamdPid }: QueueBenchOptions): Promise<void> {
  const net = await loopback(sample(FILE_BYTES));
  const options = (name: string, jobsAtOnce: number): SideOptions => ({
    folder: join(folder, name),
    clamdSocket,
    jobsAtOnce,
  });
  try {
    await withSides(options("submits", 0), (sides) => measureSubmits(sides, net));
    await showSyncs(options("syncs", 0), net);
    await withSides(options("jobs", JOBS_AT_ONCE), (sides) =>
      measureJobs(sides, { jobsAtOnce: JOBS_AT_ONCE, loopback: net, clamdPid }),
    );
  } finally {
    await net.close();
  }
}

async function withSides(options: SideOptions, work: (sides: [Side, Side]) => Promise<void>): Promise<void> {
  const running: Side[] = [];
  try {
    for (const start of [startLazaret, startPeer]) running.push(await start(options));
    await work(running as [Side, Side]);
  } finally {
    for (const side of running) await side.stop();
  }
}
