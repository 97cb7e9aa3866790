import type { BenchOptions } from "./arguments.ts";
import { shareInWords, watchNoise } from "./noise.ts";
import { waitingTargets } from "./queue/million.ts";
import { queueTargets } from "./queue/queue-targets.ts";
import { scanTargets } from "./scan-targets.ts";
import { seenTargets } from "./seen.ts";
import { type Target, targetsTable } from "./targets.ts";

/** All that we want, in one table. */
export async function measureTargets(options: BenchOptions): Promise<Target[]> {
  const started = performance.now();
  const noise = watchNoise();
  const say = (text: string): void => void process.stderr.write(`bench: ${text}…\n`);
  say("scans");
  const scans = await scanTargets(options);
  say("submits and jobs");
  const queue = await queueTargets(options);
  say("jobs waiting");
  const { folder, pace } = options;
  const waiting = await waitingTargets({ folder, many: pace.waiting, rounds: pace.waitingRounds });
  say("files seen before");
  const seen = await seenTargets(options, scans.emptyOf);

  const targets = [...scans.targets, ...queue, ...waiting, ...seen];
  const seconds = (performance.now() - started) / 1000;
  console.log(`\n${targetsTable(targets)}\n`);
  console.log(
    `Medians of ${pace.rounds} rounds, ${pace.smallRounds} with files below 1 MB, ${pace.jobRounds} of jobs, ${pace.waitingRounds} with many waiting; the spread is`,
  );
  console.log(
    "from the least to the most. By CPU: what the ratio would be if all cores were always busy. Ceiling: what a",
  );
  console.log(
    "node:http server without checks reaches; for submits one that keeps them in our database (--only queue shows",
  );
  console.log("one that only appends to a file).");
  console.log(
    `${shareInWords(noise.share())} Sending the requests took ${(100 * scans.loadShare).toFixed(0)} % of one`,
  );
  console.log(`core at most. ${seconds.toFixed(0)} s.`);
  return targets;
}
