import { availableParallelism } from "node:os";
import { longestLine, type ScansAtOnce, scansAtOnce } from "./limits.ts";

/** Which of the processes of one service this is; the first is 1, and does what must be done once. */
export interface OneOf {
  number: number;
  of: number;
}

/** What is shared out. */
interface Shared {
  role: "all" | "api" | "worker";
  concurrency: number;
  waitingLine: number;
  workers: number;
  verdictCache: number;
}

/** Beyond this the database and the one that supervises would be what everybody waits for. */
const MOST_BY_ITSELF = 8;

/** How many processes there may be: each has a slot at least. */
export function mostProcesses(settings: Shared, byEngine: number): number {
  const { concurrency, jobsAtOnce } = scansAtOnce(settings, byEngine);
  return settings.role === "worker" ? jobsAtOnce : concurrency;
}

/** `auto` is one for every two cores: scan threads and clamd need the others. */
export function processesOf(
  settings: Shared & { processes: number | "auto" },
  byEngine: number,
  cores: number = availableParallelism(),
): number {
  if (settings.processes !== "auto") return settings.processes;
  return Math.max(1, Math.min(MOST_BY_ITSELF, Math.floor(cores / 2), mostProcesses(settings, byEngine)));
}

/**
 * A part of the whole; all parts together are the whole.
 * @internal tested by table
 */
export function shareOf(total: number, { number, of }: OneOf): number {
  return Math.floor(total / of) + (number <= total % of ? 1 : 0);
}

/** The settings of one process, so that all of them together hold to those of the service. One that has no share of the jobs runs none. */
export function settingsOfOne<Settings extends Shared>(settings: Settings, byEngine: number, one: OneOf): Settings {
  const all: ScansAtOnce = scansAtOnce(settings, byEngine);
  const jobs = shareOf(all.jobsAtOnce, one);
  return {
    ...settings,
    role: settings.role === "all" && jobs === 0 ? "api" : settings.role,
    concurrency: Math.max(1, shareOf(all.concurrency, one)),
    waitingLine: Math.max(1, shareOf(longestLine(settings, all.concurrency), one)),
    workers: Math.max(1, jobs),
    verdictCache: shareOf(settings.verdictCache, one),
  };
}

/** Scan threads of one process. */
export function threadsOf({ of }: OneOf, cores: number = availableParallelism()): number {
  return Math.ceil(cores / of);
}

/** One that lived for so long has not died of its start. */
export const LONG_LIFE_MS = 60_000;
/** So many starts in a row may fail before the whole service ends. */
export const STARTS_IN_A_ROW = 6;
const LONGEST_PAUSE_SECONDS = 30;

/** Before a process is started again that died so many times in a row soon after its start, or in it: at once, then 1, 2, 4 s and so on. */
export function restartSeconds(earlyDeaths: number): number {
  return earlyDeaths <= 1 ? 0 : Math.min(2 ** (earlyDeaths - 2), LONGEST_PAUSE_SECONDS);
}

/** One that does not tell its counts within this time is left out. */
export const OTHERS_MS = 1000;
/** How long the supervisor waits for a process that took a message. */
export const ANSWER_MS = 15_000;
/** After the grace, for what is slow to close. */
export const LAST_GRACE_MS = 10_000;
