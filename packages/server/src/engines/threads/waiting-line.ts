import { SMALL_FILE_BYTES } from "./scan-limits.ts";
import type { Outcome } from "./scan-protocol.ts";
import type { MemberShow } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";

/** A file that somebody waits for. */
export interface ScanTask {
  file: Spooled;
  signal: AbortSignal;
  /** It may use the thread kept for small files. */
  small: boolean;
  /** A thread died while it had this file. */
  lost: boolean;
  /** How much of its time that thread had used. */
  usedMs: number;
  /** The clamd that wants to see the members, if there is one. */
  other: MemberShow | undefined;
  settle(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** Tasks in the order they came, and which of them goes next. */
export interface WaitingLine {
  /** At the end of the line. */
  add(task: Pick<ScanTask, "file" | "signal" | "other" | "settle" | "fail">): ScanTask;
  /** Back to the front. */
  putBack(task: ScanTask): void;
  /** False if it is not in the line any more. */
  remove(task: ScanTask): boolean;
  /** The next one, or the next small one. */
  take(which: "any" | "small"): ScanTask | undefined;
  /** How many there are that `take` would give. */
  count(which: "any" | "small"): number;
  empty(): ScanTask[];
}

export function waitingLine(): WaitingLine {
  const line: ScanTask[] = [];

  function remove(task: ScanTask): boolean {
    const place = line.indexOf(task);
    if (place >= 0) line.splice(place, 1);
    return place >= 0;
  }

  return {
    add(given) {
      const { file } = given;
      const small = file.kind === "memory" && file.bytes.length <= SMALL_FILE_BYTES;
      const task: ScanTask = { ...given, small, lost: false, usedMs: 0 };
      line.push(task);
      return task;
    },
    putBack: (task) => void line.unshift(task),
    remove,
    take(which) {
      const next = line.find(({ small }) => small || which === "any");
      if (next) remove(next);
      return next;
    },
    count: (which) => (which === "any" ? line : line.filter(({ small }) => small)).length,
    empty: () => line.splice(0),
  };
}
