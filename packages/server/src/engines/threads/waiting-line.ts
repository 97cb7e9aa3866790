import { SMALL_FILE_BYTES, TOGETHER_BYTES, TOGETHER_COUNT, TOGETHER_EACH_BYTES } from "./scan-limits.ts";
import type { Outcome } from "./scan-protocol.ts";
import type { MemberShow } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";

/** A file that somebody waits for. */
export interface ScanTask {
  file: Spooled;
  signal: AbortSignal;
  /** It may use the thread kept for small files. */
  small: boolean;
  /** It was prechecked, and needs a scan of its own. */
  prechecked: boolean;
  /** A thread died while it had this file. */
  lost: boolean;
  /** How much of its time that thread had used. */
  usedMs: number;
  /** Until then it may wait for others to be prechecked with, in milliseconds of `performance.now()`. */
  patientUntil: number;
  /** The clamd that wants to see the members, if there is one. */
  other: MemberShow | undefined;
  settle(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** Tasks in the order they came, and which of them go next. */
export interface WaitingLine {
  /** At the end of the line. */
  add(task: Pick<ScanTask, "file" | "signal" | "other" | "settle" | "fail">): ScanTask;
  /** Back to the front. */
  putBack(task: ScanTask): void;
  /** False if it is not in the line any more. */
  remove(task: ScanTask): boolean;
  /** For a thread that is free: nothing, one task to be scanned, or several to be prechecked together. */
  take(thread: { smallOnly: boolean; prechecks: boolean }): ScanTask[];
  empty(): ScanTask[];
}

/**
 * A small file that comes soon after another may wait up to `gatherMs` for further ones, so that they are prechecked
 * together: worth it where somebody else takes longer over the same file anyway. `ripe` is called when it has waited.
 */
export function waitingLine(gatherMs: number, ripe: () => void): WaitingLine {
  const line: ScanTask[] = [];
  let lastArrival = Number.NEGATIVE_INFINITY;

  function patience(file: Spooled): number {
    const now = performance.now();
    const alone = now - lastArrival > gatherMs;
    lastArrival = now;
    if (gatherMs === 0 || alone || !isPrecheckable(file)) return now;
    setTimeout(ripe, gatherMs).unref();
    return now + gatherMs;
  }

  return {
    add(given) {
      const { file } = given;
      const small = file.kind === "memory" && file.bytes.length <= SMALL_FILE_BYTES;
      const task: ScanTask = {
        ...given,
        small,
        prechecked: false,
        lost: false,
        usedMs: 0,
        patientUntil: patience(file),
      };
      line.push(task);
      return task;
    },
    putBack: (task) => void line.unshift(task),
    remove(task) {
      const place = line.indexOf(task);
      if (place >= 0) line.splice(place, 1);
      return place >= 0;
    },
    take({ smallOnly, prechecks }) {
      const group = prechecks ? gather(line) : { tasks: [], full: false };
      // The clock of timers and this one differ by up to a millisecond.
      const now = performance.now() + 1;
      const waits = (task: ScanTask): boolean =>
        group.tasks.includes(task) && !group.full && group.tasks.every((one) => one.patientUntil > now);
      const first = line.find((task) => (task.small || !smallOnly) && !waits(task));
      const chosen = !first ? [] : group.tasks.includes(first) ? group.tasks : [first];
      for (const task of chosen) line.splice(line.indexOf(task), 1);
      return chosen;
    },
    empty: () => line.splice(0),
  };
}

function isPrecheckable(file: Spooled): boolean {
  return file.kind === "memory" && file.bytes.length <= TOGETHER_EACH_BYTES;
}

/** As many as can be prechecked together, from the front. */
function gather(line: readonly ScanTask[]): { tasks: ScanTask[]; full: boolean } {
  const tasks: ScanTask[] = [];
  let bytes = 0;
  for (const task of line) {
    if (task.prechecked || task.file.kind !== "memory" || !isPrecheckable(task.file)) continue;
    bytes += task.file.bytes.length;
    if (bytes > TOGETHER_BYTES || tasks.length === TOGETHER_COUNT) return { tasks, full: true };
    tasks.push(task);
  }
  return { tasks, full: tasks.length === TOGETHER_COUNT };
}
