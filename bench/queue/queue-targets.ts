import { join } from "node:path";
import type { BenchOptions } from "../arguments.ts";
import { type Rounds, ratios, ratiosByCpu } from "../rounds.ts";
import { sample } from "../sample.ts";
import { median } from "../table.ts";
import type { Target } from "../targets.ts";
import { loopback } from "./loopback.ts";
import { jobMemory, jobRounds } from "./measure-jobs.ts";
import { FILE_BYTES, JOBS_AT_ONCE } from "./measure-queue.ts";
import { AT_ONCE, submitRounds, warmUp } from "./measure-submits.ts";
import { type Side, withSides } from "./sides.ts";

/** How far memory may be apart at two times and still count as the same: what garbage may wait to be collected. */
const FLAT_MB = 10;

export async function queueTargets({ folder, clamd, pace }: BenchOptions): Promise<Target[]> {
  const net = await loopback(sample(FILE_BYTES));
  const options = (name: string, jobsAtOnce: number, signed = false) => ({
    folder: join(folder, `targets-${name}`),
    clamdSocket: clamd.socketPath,
    jobsAtOnce,
    signed,
  });
  const jobs = { loopback: net, clamdPid: clamd.pid, pace };
  try {
    const submits = await withSides(options("submits", 0), async (sides) => {
      await warmUp(sides, net, pace);
      const targets: Target[] = [];
      for (const connections of AT_ONCE) {
        const rounds = await submitRounds(sides, net, { connections, pace });
        targets.push(ofBullMq(`submits, ${connections} at once`, 1.2, rounds, "database"));
      }
      return targets;
    });
    const signed = await withSides(options("signed", JOBS_AT_ONCE, true), async (sides) => {
      const rounds = await jobRounds(sides, { ...jobs, jobs: pace.signedJobs, signed: true });
      return ofBullMq("jobs end to end, signed callbacks", 1.3, rounds);
    });
    const unsigned = await withSides(options("jobs", JOBS_AT_ONCE), async (sides) => {
      const rounds = await jobRounds(sides, { ...jobs, jobs: pace.jobs, signed: false });
      const memory = await memoryTarget(sides[0] as Side, jobs);
      return [ofBullMq("jobs end to end", 1.3, rounds), memory];
    });
    return [...submits, ...unsigned.slice(0, 1), signed, ...unsigned.slice(1)];
  } finally {
    await net.close();
  }
}

function ofBullMq(work: string, least: number, rounds: Rounds, best: "floor" | "database" = "floor"): Target {
  return {
    work,
    values: ratios(rounds, ["Lazaret", "BullMQ"], "perSecond"),
    want: { least },
    unit: "of BullMQ",
    ceiling: median(ratios(rounds, [best, "BullMQ"], "perSecond")),
    byCpu: median(ratiosByCpu(rounds, ["Lazaret", "BullMQ"])),
  };
}

async function memoryTarget(
  side: Side,
  { loopback: net, pace }: Pick<Parameters<typeof jobRounds>[1], "loopback" | "pace">,
): Promise<Target> {
  const { early, late } = await jobMemory(side, { loopback: net, jobs: pace.jobsForMemory });
  return {
    work: `RSS over ${pace.jobsForMemory.toLocaleString("en")} jobs, from a tenth of them on: growth`,
    values: [late - early],
    want: { most: FLAT_MB },
    unit: "MB",
  };
}
