import type { Pace } from "../arguments.ts";
import type { LoadResult } from "../load.ts";
import { shareInWords, watchNoise } from "../noise.ts";
import { alternate, middle, type Rounds, ratios } from "../rounds.ts";
import { head, median, rate, row } from "../table.ts";
import type { Loopback } from "./loopback.ts";
import type { Side } from "./sides.ts";
import { submit } from "./submits.ts";

const CONNECTIONS = 16;

export interface JobsOptions {
  /** In one measurement. */
  jobs: number;
  signed: boolean;
  loopback: Loopback;
  clamdPid: number;
  pace: Pace;
}

/** From the first submit to the last callback, jobs coming in faster than they are done. */
export async function jobRounds(sides: readonly Side[], options: JobsOptions): Promise<Rounds> {
  const { jobs, signed, loopback, clamdPid, pace } = options;
  const work = (side: Side) => runJobs(side, loopback, { jobs, signed });
  // Not measured: code and connections get warm.
  for (const side of sides) await runJobs(side, loopback, { jobs: pace.jobsToWarmUp, signed });
  return alternate(sides, { rounds: pace.jobRounds, clamdPid, work });
}

export async function measureJobs(
  sides: readonly Side[],
  options: JobsOptions & { title: string; jobsAtOnce: number },
): Promise<void> {
  const { jobs, pace, title, jobsAtOnce } = options;
  const noise = watchNoise();
  const rounds = await jobRounds(sides, options);
  console.log(head(`${title}, ${jobsAtOnce} at once`, "jobs/s", "CPU ms/job", "peak RSS MB", "of BullMQ"));
  for (const { name, peakMb } of sides) {
    const cells = [rate(middle(rounds, name, "perSecond")), middle(rounds, name, "cpuMs").toFixed(2)];
    const ratio = median(ratios(rounds, [name, "BullMQ"], "perSecond"));
    console.log(row(name, ...cells, peakMb().toFixed(0), ratio.toFixed(2)));
  }
  console.log(`\nMedians of ${pace.jobRounds} rounds of ${jobs} jobs. ${shareInWords(noise.share())}\n`);
}

/** What becomes of the memory in a long run; the floor is no service, and left out. */
export async function showJobMemory(sides: readonly Side[], { loopback, pace }: JobsOptions): Promise<void> {
  console.log(head(`${pace.jobsForMemory} jobs`, "jobs/s", "RSS MB before", "after a tenth", "at the end", "peak"));
  for (const side of sides.filter(({ name }) => name !== "floor")) {
    const { perSecond, before, early, late } = await jobMemory(side, { loopback, jobs: pace.jobsForMemory });
    console.log(row(side.name, rate(perSecond), ...[before, early, late, side.peakMb()].map((mb) => mb.toFixed(0))));
  }
}

/** The memory before, after a tenth of the jobs and after all of them, each the median of what was seen around then. */
export async function jobMemory(
  side: Side,
  { loopback, jobs }: { loopback: Loopback; jobs: number },
): Promise<{ perSecond: number; before: number; early: number; late: number }> {
  const before = side.rssMb();
  const seen: number[] = [];
  const every = Math.max(1, Math.floor(jobs / 100));
  loopback.onCallback = (count) => {
    if (count % every === 0) seen.push(side.rssMb());
  };
  const { seconds } = await runJobs(side, loopback, { jobs, signed: false });
  loopback.onCallback = () => {};
  return { perSecond: jobs / seconds, before, early: median(seen.slice(5, 15)), late: median(seen.slice(-10)) };
}

export async function runJobs(
  side: Side,
  loopback: Loopback,
  { jobs, signed }: { jobs: number; signed: boolean },
): Promise<LoadResult> {
  const started = performance.now();
  const all = loopback.callbacks(jobs);
  await Promise.all([submit(side, loopback, { connections: CONNECTIONS, atMost: jobs }), all]);
  const seconds = (performance.now() - started) / 1000;
  if (loopback.repeated > 0) throw new Error(`${side.name} called back ${loopback.repeated} times too often`);
  if (loopback.signed !== (signed ? jobs : 0)) throw new Error(`${side.name} signed ${loopback.signed} of ${jobs}`);
  return { requests: jobs, seconds, latencies: [] };
}
