import { SMALL_FILE_BYTES, TOGETHER_BYTES, TOGETHER_COUNT, TOGETHER_EACH_BYTES } from "./scan-limits.ts";
import type { Outcome } from "./scan-protocol.ts";
import type { MemberShow } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";

/** A file that somebody waits for. */
export interface Job {
  file: Spooled;
  signal: AbortSignal;
  /** It may use the thread kept for small files. */
  small: boolean;
  /** It was glanced at, and needs a look of its own. */
  glanced: boolean;
  /** A thread died while it had this file. */
  lost: boolean;
  /** How much of its time that thread had used. */
  usedMs: number;
  /** Until then it may wait for others to be glanced at with, in milliseconds of `performance.now()`. */
  patientUntil: number;
  /** The clamd that wants to see the members, if there is one. */
  other: MemberShow | undefined;
  settle(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** Jobs in the order they came, and which of them go next. */
export interface WaitingLine {
  /** At the end of the line. */
  add(job: Pick<Job, "file" | "signal" | "other" | "settle" | "fail">): Job;
  /** Back to the front. */
  putBack(job: Job): void;
  /** False if it is not in the line any more. */
  remove(job: Job): boolean;
  /** For a thread that is free: nothing, one job to be looked at, or several to be glanced at together. */
  take(thread: { smallOnly: boolean; glances: boolean }): Job[];
  empty(): Job[];
}

/**
 * A small file that comes soon after another may wait up to `gatherMs` for further ones, so that they are glanced at
 * together: worth it where somebody else takes longer over the same file anyway. `ripe` is called when it has waited.
 */
export function waitingLine(gatherMs: number, ripe: () => void): WaitingLine {
  const line: Job[] = [];
  let lastArrival = Number.NEGATIVE_INFINITY;

  function patience(file: Spooled): number {
    const now = performance.now();
    const alone = now - lastArrival > gatherMs;
    lastArrival = now;
    if (gatherMs === 0 || alone || !isGlanceable(file)) return now;
    setTimeout(ripe, gatherMs).unref();
    return now + gatherMs;
  }

  return {
    add(given) {
      const { file } = given;
      const small = file.kind === "memory" && file.bytes.length <= SMALL_FILE_BYTES;
      const job: Job = { ...given, small, glanced: false, lost: false, usedMs: 0, patientUntil: patience(file) };
      line.push(job);
      return job;
    },
    putBack: (job) => void line.unshift(job),
    remove(job) {
      const place = line.indexOf(job);
      if (place >= 0) line.splice(place, 1);
      return place >= 0;
    },
    take({ smallOnly, glances }) {
      const group = glances ? gather(line) : { jobs: [], full: false };
      // The clock of timers and this one differ by up to a millisecond.
      const now = performance.now() + 1;
      const waits = (job: Job): boolean =>
        group.jobs.includes(job) && !group.full && group.jobs.every((one) => one.patientUntil > now);
      const first = line.find((job) => (job.small || !smallOnly) && !waits(job));
      const chosen = !first ? [] : group.jobs.includes(first) ? group.jobs : [first];
      for (const job of chosen) line.splice(line.indexOf(job), 1);
      return chosen;
    },
    empty: () => line.splice(0),
  };
}

function isGlanceable(file: Spooled): boolean {
  return file.kind === "memory" && file.bytes.length <= TOGETHER_EACH_BYTES;
}

/** As many as can be glanced at together, from the front. */
function gather(line: readonly Job[]): { jobs: Job[]; full: boolean } {
  const jobs: Job[] = [];
  let bytes = 0;
  for (const job of line) {
    if (job.glanced || job.file.kind !== "memory" || !isGlanceable(job.file)) continue;
    bytes += job.file.bytes.length;
    if (bytes > TOGETHER_BYTES || jobs.length === TOGETHER_COUNT) return { jobs, full: true };
    jobs.push(job);
  }
  return { jobs, full: jobs.length === TOGETHER_COUNT };
}
