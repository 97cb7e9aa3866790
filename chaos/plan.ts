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

/** What is killed: an API or a worker, by its name, clamd, or the server that all stand on. */
export type Target = string;

/** One moment of the run, in which these are killed together. */
export interface Kill {
  targets: readonly Target[];
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
/** After these the rest of the run is left for a file that kills. */
const KILLERS_UNTIL = 0.7;
const LONGEST_DOWN_MS = 1000;
/** A burst takes the workers longer than the API, which is to be killed while jobs still come in. */
const WORKER_MOMENT_MS = 1500;
const API_MOMENT_MS = 50;

interface JobPlan {
  random: Random;
  deafShare: number;
  jobs: number;
  /** Of them, those whose file kills the worker that scans it. */
  killers: number;
}

export function plannedJob(number: number, options: JobPlan): PlannedJob {
  const random = (what: string): number => options.random("job", number, what);
  const heard = random("answer") < CALLBACK_SHARE;
  const kills = isKiller(number, options);
  return {
    traceId: `chaos-${number}`,
    customData: `job ${number}: "\u0000\ud83d\ude00\ud800" ${random("custom data")}`,
    file: kills
      ? "killer"
      : pick(
          samples.map(({ name, weight }) => [name, weight] as const),
          random("file"),
        ),
    manner: kills ? "whole" : pick(manners, random("manner")),
    answer: heard ? (random("deaf") < options.deafShare ? "deaf" : "callback") : "poll",
    receiver: Math.floor(random("receiver") * RECEIVERS),
  };
}

/** Spread over the run. */
function isKiller(number: number, { jobs, killers }: JobPlan): boolean {
  const every = Math.floor((jobs * KILLERS_UNTIL) / killers);
  return every > 0 && number % every === 0 && number / every <= killers;
}

/**
 * The kills of a run. All are killed in turn, in another order each time, and then sometimes all of them at once,
 * as when the machine goes down; that counts as so many.
 */
export function killPlan(count: number, targets: readonly Target[], random: Random): Kill[] {
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
      after: 0.2 + 1.6 * random("after", number),
      share: random("share", number),
      momentMs:
        random("moment", number) ** 2 *
        (fitting.some((target) => target.startsWith("api")) ? API_MOMENT_MS : WORKER_MOMENT_MS),
      downMs: random("down", number) * LONGEST_DOWN_MS,
    });
  }
  return plan;
}
