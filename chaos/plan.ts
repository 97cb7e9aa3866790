import { type FileName, type Manner, manners, samples } from "./files.ts";
import { pick, type Random } from "./seeded.ts";

/** What is submitted, decided by the seed alone. */
export interface PlannedJob {
  traceId: string;
  customData: string;
  file: FileName;
  manner: Manner;
  /** `deaf` wants a callback, at a receiver that never answers 2xx. */
  answer: "callback" | "poll" | "deaf";
  /** Which of the receivers of that kind. */
  receiver: number;
}

export const targets = ["api", "worker 1", "worker 2", "clamd"] as const;
export type Target = (typeof targets)[number];

/** What is killed of a service of several processes: one that serves, the one that supervises them, or all at once. */
export type Victim = "process" | "supervisor" | "all";

/** One moment of the run, in which these are killed together. */
export interface Kill {
  targets: readonly Target[];
  victim: Victim;
  /** From 0 to 1: which of those that serve. */
  which: number;
  /** Since the kill before, as a multiple of the usual time. */
  after: number;
  /** When so much of its burst is acknowledged, and so long after that. */
  share: number;
  momentMs: number;
  /** How long it stays dead before it is started again. */
  downMs: number;
}

/** Receivers of each kind: the limits of the sender count by origin. */
export const RECEIVERS = 6;
const CALLBACK_SHARE = 0.7;
const LONGEST_DOWN_MS = 1000;
/** A burst takes the workers longer than the API, which is to be killed while jobs still come in. */
const WORKER_MOMENT_MS = 1500;
const API_MOMENT_MS = 50;
const VICTIM_WEIGHTS = [
  ["process", 3],
  ["supervisor", 2],
  ["all", 1],
] as const satisfies readonly (readonly [Victim, number])[];

export function plannedJob(number: number, options: { random: Random; deafShare: number }): PlannedJob {
  const random = (what: string): number => options.random("job", number, what);
  const heard = random("answer") < CALLBACK_SHARE;
  return {
    traceId: `chaos-${number}`,
    customData: `job ${number}: "\u0000\ud83d\ude00\ud800" ${random("custom data")}`,
    file: pick(
      samples.map(({ name, weight }) => [name, weight] as const),
      random("file"),
    ),
    manner: pick(manners, random("manner")),
    answer: heard ? (random("deaf") < options.deafShare ? "deaf" : "callback") : "poll",
    receiver: Math.floor(random("receiver") * RECEIVERS),
  };
}

/**
 * The kills of a run. All four are killed in turn, in another order each time, and then sometimes all of them at once,
 * as when the machine goes down; that counts as four.
 */
export function killPlan(count: number, random: Random): Kill[] {
  const plan: Kill[] = [];
  let left = count;
  let bag: Kill["targets"][] = [];
  while (left > 0) {
    const number = plan.length;
    if (bag.length === 0) {
      bag = [...targets.map((target) => [target]), ...(random("machine", number) < 0.5 ? [targets] : [])];
    }
    const [chosen = []] = bag.splice(Math.floor(random("target", number) * bag.length), 1);
    const fitting = chosen.slice(0, left);
    left -= fitting.length;
    plan.push({
      targets: fitting,
      victim: fitting.length > 1 ? "all" : pick(VICTIM_WEIGHTS, random("victim", number)),
      which: random("which", number),
      after: 0.2 + 1.6 * random("after", number),
      share: random("share", number),
      momentMs: random("moment", number) ** 2 * (fitting.includes("api") ? API_MOMENT_MS : WORKER_MOMENT_MS),
      downMs: random("down", number) * LONGEST_DOWN_MS,
    });
  }
  return plan;
}
