import type { LoadResult } from "./load.ts";
import { cpuSeconds } from "./processes.ts";
import { median, percentile } from "./table.ts";

/** One of those that are compared, running. */
export interface Contestant {
  name: string;
  pids: readonly number[];
}

/** The result of one measurement: time of each request, and CPU of the contestant, clamd and this process. */
export interface Sample {
  perSecond: number;
  p50: number;
  cpuMs: number;
  clamdMs: number;
  loadMs: number;
}

/** By name, one sample for each round. */
export type Rounds = ReadonlyMap<string, readonly Sample[]>;

/** Measures all of them in each round, each time in another order: what disturbs one disturbs the others. */
export async function alternate<C extends Contestant>(
  contestants: readonly C[],
  options: { rounds: number; clamdPid?: number; work(contestant: C): Promise<LoadResult> },
): Promise<Rounds> {
  const clamdPids = options.clamdPid === undefined ? [] : [options.clamdPid];
  const spent = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid) * 1000, 0);
  const samples = new Map<string, Sample[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const contestant of contestants.map((_, at) => contestants[(at + round) % contestants.length] as C)) {
      const [cpu, clamd, load] = [spent(contestant.pids), spent(clamdPids), process.cpuUsage()];
      const { requests, seconds, latencies } = await options.work(contestant);
      const { user, system } = process.cpuUsage(load);
      samples.get(contestant.name)?.push({
        perSecond: requests / seconds,
        p50: percentile(latencies, 0.5),
        cpuMs: (spent(contestant.pids) - cpu) / requests,
        clamdMs: (spent(clamdPids) - clamd) / requests,
        loadMs: (user + system) / 1000 / requests,
      });
    }
  }
  return samples;
}

/** Returns the median of all rounds. */
export function middle(rounds: Rounds, name: string, of: keyof Sample): number {
  return median((rounds.get(name) ?? []).map((sample) => sample[of]));
}

/** Compares the rates of two within each round, where the machine was the same for both. */
export function ratios(rounds: Rounds, name: string, other: string): number[] {
  const others = rounds.get(other) ?? [];
  return (rounds.get(name) ?? []).map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN));
}

/** Returns what the ratio would be if all cores were always busy. Where a core is left idle it says more than the clock does. */
export function ratioByCpu(rounds: Rounds, name: string, other: string): number {
  const total = ({ cpuMs, clamdMs, loadMs }: Sample): number => cpuMs + clamdMs + loadMs;
  const others = (rounds.get(other) ?? []).map(total);
  return median((rounds.get(name) ?? []).map((sample, round) => (others[round] ?? Number.NaN) / total(sample)));
}
