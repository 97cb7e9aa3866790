import type { Costs } from "./ceilings.ts";
import type { LoadResult } from "./load.ts";
import { cpuSeconds } from "./processes.ts";
import { median, percentile } from "./table.ts";

/** One of those that are compared, running. */
export interface Contestant {
  name: string;
  pids: readonly number[];
}

/** What one measurement showed. */
export interface Sample extends Costs {
  perSecond: number;
  p50: number;
  p99: number;
}

/** By name, one sample for each round. */
export type Rounds = ReadonlyMap<string, readonly Sample[]>;

export interface RoundsOptions<C> {
  rounds: number;
  clamdPid?: number | undefined;
  /** Before each measurement, and no part of it. */
  prepare?(contestant: C): Promise<void>;
  work(contestant: C): Promise<LoadResult>;
}

/** All of them in each round, each time in another order: what disturbs one disturbs the others. */
export async function alternate<C extends Contestant>(
  contestants: readonly C[],
  options: RoundsOptions<C>,
): Promise<Rounds> {
  const samples = new Map<string, Sample[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const contestant of rotated(contestants, round)) {
      await options.prepare?.(contestant);
      samples.get(contestant.name)?.push(await sampleOf(contestant, options));
    }
  }
  return samples;
}

async function sampleOf<C extends Contestant>(contestant: C, options: RoundsOptions<C>): Promise<Sample> {
  const clamdPids = options.clamdPid === undefined ? [] : [options.clamdPid];
  const spent = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid) * 1000, 0);
  const [cpuBefore, clamdBefore, loadBefore] = [spent(contestant.pids), spent(clamdPids), process.cpuUsage()];
  const { requests, seconds, latencies } = await options.work(contestant);
  const load = process.cpuUsage(loadBefore);
  return {
    perSecond: requests / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpuMs: (spent(contestant.pids) - cpuBefore) / requests,
    clamdMs: (spent(clamdPids) - clamdBefore) / requests,
    loadMs: (load.user + load.system) / 1000 / requests,
  };
}

/** The median of all rounds. */
export function middle(rounds: Rounds, name: string, of: keyof Sample): number {
  return median((rounds.get(name) ?? []).map((sample) => sample[of]));
}

/** The medians of what one request costs. */
export function costsOf(rounds: Rounds, name: string): Costs {
  return {
    cpuMs: middle(rounds, name, "cpuMs"),
    clamdMs: middle(rounds, name, "clamdMs"),
    loadMs: middle(rounds, name, "loadMs"),
  };
}

/** Of one to another, taken within each round, where the machine was the same for both. */
export function ratios(rounds: Rounds, [name, other]: readonly [string, string], of: keyof Sample): number[] {
  const others = rounds.get(other) ?? [];
  return (rounds.get(name) ?? []).map((sample, round) => sample[of] / (others[round]?.[of] ?? Number.NaN));
}

/**
 * What the ratio of throughputs would be if nobody else used the cores: steadier than the clock on a machine that is
 * shared. Where a core is left idle it says more than the clock does.
 */
export function ratiosByCpu(rounds: Rounds, [name, other]: readonly [string, string]): number[] {
  const total = ({ cpuMs, clamdMs, loadMs }: Costs): number => cpuMs + clamdMs + loadMs;
  const others = rounds.get(other) ?? [];
  return (rounds.get(name) ?? []).map((sample, round) => {
    const compared = others[round];
    return compared ? total(compared) / total(sample) : Number.NaN;
  });
}

/** The first becomes the last, so that none is always measured at the same point of a round. */
function rotated<T>(list: readonly T[], by: number): T[] {
  return list.map((_, index) => list[(index + by) % list.length] as T);
}
