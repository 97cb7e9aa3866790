import type { BenchOptions } from "../arguments.ts";
import { shareInWords, watchNoise } from "../noise.ts";
import { alternate, middle, type Rounds, ratios, ratiosByCpu } from "../rounds.ts";
import { head, median, rate, row } from "../table.ts";
import { PROCESSES, type QueueContestant, withContestants } from "./contestants.ts";
import type { OwnPostgres } from "./own-postgres.ts";
import { measureWaiting } from "./waiting.ts";

const SUBMITS_AT_ONCE = [1, 16, 64];
const OURS = "Lazaret";

/** Queues alone: what a job costs to submit, to take and to settle with a result, without a download or a scan. */
export async function measurePostgres({ folder, pace }: BenchOptions): Promise<void> {
  const { jobs, rounds } = pace;
  await withContestants(folder, async (contestants, server) => {
    const noise = watchNoise();
    // Not measured: code and connections get warm.
    for (const each of contestants) {
      await each.submit(pace.jobsToWarmUp, 64);
      await each.work(pace.jobsToWarmUp, Math.max(...PROCESSES));
    }
    const commits = watchCommits(server);
    console.log(head("submits at once", "", "submits/s", "p50 ms", "CPU ms/submit", "commits/1,000", ...RATIOS));
    for (const atOnce of SUBMITS_AT_ONCE) {
      const some = atOnce === 1 ? Math.ceil(jobs / 4) : jobs;
      const work = (each: QueueContestant) => commits.around(each.name, some, () => each.submit(some, atOnce));
      const measured = await alternate(contestants, { rounds, work });
      print(`${atOnce}`, contestants, measured, (name) => [
        middle(measured, name, "p50").toFixed(1),
        ...costs(measured, name, commits),
      ]);
      // Empty again, for the next.
      for (const each of contestants) await each.work(some * rounds, Math.max(...PROCESSES));
      commits.forget();
    }
    console.log(`\nMedians of ${rounds} rounds of ${jobs} jobs, a quarter of that one at a time.\n`);

    console.log(head("worker processes", "", "jobs/s", "CPU ms/job", "commits/1,000", ...RATIOS));
    for (const processes of PROCESSES) {
      const measured = await alternate(contestants, {
        rounds,
        async prepare(each) {
          await each.submit(jobs, 64);
        },
        work: (each) => commits.around(each.name, jobs, () => each.work(jobs, processes)),
      });
      print(`${processes}`, contestants, measured, (name) => costs(measured, name, commits));
      commits.forget();
    }
    console.log(
      `\nMedians of ${rounds} rounds of ${jobs} jobs, 16 at once in each process. ${shareInWords(noise.share())}\n`,
    );
  });
  await measureWaiting({ folder, many: pace.waiting, rounds, jobs });
}

const RATIOS = ["Lazaret is", "by CPU"];

function print(
  first: string,
  contestants: readonly QueueContestant[],
  rounds: Rounds,
  cells: (name: string) => readonly string[],
): void {
  for (const { name } of contestants) {
    const times = (values: readonly number[]): string => (name === OURS ? "" : `× ${median(values).toFixed(1)}`);
    const compared = [ratios(rounds, [OURS, name], "perSecond"), ratiosByCpu(rounds, [OURS, name])].map(times);
    console.log(row(first, name, rate(middle(rounds, name, "perSecond")), ...cells(name), ...compared));
  }
}

function costs(rounds: Rounds, name: string, commits: Commits): string[] {
  return [middle(rounds, name, "cpuMs").toFixed(2), commits.of(name)];
}

interface Commits {
  around<T>(name: string, jobs: number, work: () => Promise<T>): Promise<T>;
  /** The median for 1,000 jobs; nothing where none were seen. */
  of(name: string): string;
  forget(): void;
}

/** Transactions that wrote something, by the numbers that the server gives them. */
function watchCommits({ sql }: OwnPostgres): Commits {
  const seen = new Map<string, number[]>();
  const next = async (): Promise<number> => Number(await sql("postgres", "SELECT txid_current()"));
  return {
    async around(name, jobs, work) {
      const before = await next();
      const result = await work();
      const more = (await next()) - before - 1;
      seen.set(name, [...(seen.get(name) ?? []), (more * 1000) / jobs]);
      return result;
    },
    of: (name) => (name === "BullMQ" ? "" : median(seen.get(name) ?? []).toFixed(0)),
    forget: () => seen.clear(),
  };
}
