import type { Pace } from "../arguments.ts";
import { shareInWords, watchNoise } from "../noise.ts";
import { alternate, middle, type Rounds, ratios, type Sample } from "../rounds.ts";
import { head, median, rate, row } from "../table.ts";
import type { JobUrls } from "./loopback.ts";
import type { Side } from "./sides.ts";
import { submit } from "./submits.ts";

export const AT_ONCE = [1, 16, 64];

/** Not measured: code and connections to the store get warm. */
export async function warmUp(sides: readonly Side[], urls: JobUrls, pace: Pace): Promise<void> {
  for (const side of sides) await submit(side, urls, { connections: 16, forMs: pace.warmUpMs });
}

export function submitRounds(
  sides: readonly Side[],
  urls: JobUrls,
  options: { connections: number; pace: Pace },
): Promise<Rounds> {
  const { connections, pace } = options;
  const work = (side: Side) => submit(side, urls, { connections, forMs: pace.submitMs });
  return alternate(sides, { rounds: pace.rounds, work });
}

export async function measureSubmits(sides: readonly Side[], urls: JobUrls, pace: Pace): Promise<void> {
  const noise = watchNoise();
  await warmUp(sides, urls, pace);
  console.log(head("at once", "", "submits/s", "p50 ms", "p99 ms", "CPU ms/submit", "of BullMQ"));
  for (const connections of AT_ONCE) {
    const rounds = await submitRounds(sides, urls, { connections, pace });
    for (const { name } of sides) {
      const of = (what: keyof Sample): number => middle(rounds, name, what);
      const cells = [rate(of("perSecond")), of("p50").toFixed(1), of("p99").toFixed(1), of("cpuMs").toFixed(2)];
      const ratio = median(ratios(rounds, [name, "BullMQ"], "perSecond"));
      console.log(row(connections, name, ...cells, ratio.toFixed(2)));
    }
  }
  console.log(`\nMedians of ${pace.rounds} rounds of ${pace.submitMs / 1000} s. ${shareInWords(noise.share())}\n`);
}
