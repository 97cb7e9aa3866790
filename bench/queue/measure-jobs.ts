import { watchNoise } from "../noise.ts";
import { head, median, rate, row } from "../table.ts";
import type { Loopback } from "./loopback.ts";
import { told } from "./measure-submits.ts";
import type { Side } from "./sides.ts";
import { submit } from "./submits.ts";

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const JOBS = Number(process.env.BENCH_JOBS ?? 2000);
/** In the long run that shows what becomes of the memory. */
const MANY_JOBS = 12 * JOBS;
const CONNECTIONS = 16;

interface Run {
  perSecond: number;
  cpuMs: number;
  /** After each third of the jobs. */
  rssMb: number[];
}

export interface JobsOptions {
  jobsAtOnce: number;
  loopback: Loopback;
  clamdPid: number;
}

/** From the first submit to the last callback, jobs coming in faster than they are done. In turns, as with the submits. */
export async function measureJobs(sides: readonly [Side, Side], options: JobsOptions): Promise<void> {
  const { jobsAtOnce, loopback, clamdPid } = options;
  const noise = watchNoise(() => [process.pid, clamdPid, ...sides.flatMap(({ pids }) => pids)]);
  const runs: [Run[], Run[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [index, side] of sides.entries()) {
      const measured = await runJobs(side, loopback, JOBS);
      if (round > 0) runs[index]?.push(measured);
    }
  }
  const ratio = median(runs[0].map(({ perSecond }, index) => perSecond / (runs[1][index]?.perSecond ?? 0)));
  console.log(head("jobs at once", "", "jobs/s", "CPU ms/job", "peak RSS MB", "of BullMQ"));
  for (const [index, side] of sides.entries()) {
    const perSecond = median(runs[index]?.map((run) => run.perSecond) ?? []);
    const cpuMs = median(runs[index]?.map((run) => run.cpuMs) ?? []);
    const cells = [rate(perSecond), cpuMs.toFixed(2), side.peakMb().toFixed(0)];
    console.log(row(jobsAtOnce, side.name, ...cells, index === 0 ? ratio.toFixed(2) : "1.00"));
  }
  console.log(`\nMedians of ${ROUNDS} rounds of ${JOBS} jobs. ${told(noise.share())}\n`);

  console.log(head(`${MANY_JOBS} jobs`, "jobs/s", "RSS MB before", "after a third", "two thirds", "all", "peak"));
  for (const side of sides) {
    const before = side.rssMb();
    const { perSecond, rssMb } = await runJobs(side, loopback, MANY_JOBS);
    console.log(row(side.name, rate(perSecond), ...[before, ...rssMb, side.peakMb()].map((mb) => mb.toFixed(0))));
  }
}

async function runJobs(side: Side, loopback: Loopback, jobs: number): Promise<Run> {
  const cpu = side.cpuSeconds();
  const rssMb: number[] = [];
  loopback.onCallback = (count) => {
    if (count % Math.floor(jobs / 3) === 0) rssMb.push(side.rssMb());
  };
  const started = performance.now();
  const all = loopback.callbacks(jobs);
  await Promise.all([submit(side, loopback, { connections: CONNECTIONS, atMost: jobs }), all]);
  const seconds = (performance.now() - started) / 1000;
  if (loopback.repeated > 0) throw new Error(`${side.name} called back ${loopback.repeated} times too often`);
  return { perSecond: jobs / seconds, cpuMs: ((side.cpuSeconds() - cpu) * 1000) / jobs, rssMb };
}
