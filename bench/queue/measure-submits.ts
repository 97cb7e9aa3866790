import { cpus } from "node:os";
import type { LoadResult } from "../load.ts";
import { watchNoise } from "../noise.ts";
import { head, median, percentile, rate, row } from "../table.ts";
import type { JobUrls } from "./loopback.ts";
import type { Side } from "./sides.ts";
import { submit } from "./submits.ts";

const AT_ONCE = [1, 16, 64];
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const FOR_MS = Number(process.env.BENCH_MS ?? 3000);

interface Round {
  perSecond: number;
  p50: number;
  p99: number;
  cpuMs: number;
}

/** Submits in turns, one side after the other, and again: what disturbs one disturbs the other. The first is to warm up. */
export async function measureSubmits(sides: readonly [Side, Side], urls: JobUrls): Promise<void> {
  const noise = watchNoise(() => [process.pid, ...sides.flatMap(({ pids }) => pids)]);
  console.log(head("at once", "", "submits/s", "p50 ms", "p99 ms", "CPU ms/submit", "of BullMQ"));
  for (const connections of AT_ONCE) {
    const rounds: [Round[], Round[]] = [[], []];
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [index, side] of sides.entries()) {
        const measured = await once(side, () => submit(side, urls, { connections, forMs: FOR_MS }));
        if (round > 0) rounds[index]?.push(measured);
      }
    }
    const ratio = median(rounds[0].map(({ perSecond }, index) => perSecond / (rounds[1][index]?.perSecond ?? 0)));
    for (const [index, { name }] of sides.entries()) {
      const of = (what: keyof Round): number => median(rounds[index]?.map((round) => round[what]) ?? []);
      const cells = [rate(of("perSecond")), of("p50").toFixed(1), of("p99").toFixed(1), of("cpuMs").toFixed(2)];
      console.log(row(connections, name, ...cells, index === 0 ? ratio.toFixed(2) : "1.00"));
    }
  }
  console.log(`\nMedians of ${ROUNDS} rounds of ${FOR_MS / 1000} s. ${told(noise.share())}\n`);
}

async function once(side: Side, work: () => Promise<LoadResult>): Promise<Round> {
  const before = side.cpuSeconds();
  const { requests, seconds, latencies } = await work();
  return {
    perSecond: requests / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpuMs: ((side.cpuSeconds() - before) * 1000) / requests,
  };
}

/** In words, for under a table. */
export function told(noise: number): string {
  return `Other processes took ${(noise * 100).toFixed(0)} % of the machine's ${cpus().length} cores meanwhile.`;
}
