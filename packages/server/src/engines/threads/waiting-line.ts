import { turns } from "../../flow/turns.ts";
import { SMALL_FILE_BYTES } from "./scan-limits.ts";
import type { Outcome } from "./scan-protocol.ts";
import type { MemberShow } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";

/** A file that somebody waits for. */
export interface ScanTask {
  file: Spooled;
  signal: AbortSignal;
  /** On whose account it is looked at. */
  share: string;
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

/**
 * Tasks, and which of them goes next: one of the share that has fewest threads, and of several such of the one that had fewest so far; of
 * that share the one that came first. So nobody waits for more than one file of anybody else's who came before.
 */
export interface WaitingLine {
  /** At the end of the line. */
  add(task: Pick<ScanTask, "file" | "signal" | "share" | "other" | "settle" | "fail">): ScanTask;
  /** Back to the front. */
  putBack(task: ScanTask): void;
  /** False if it is not in the line any more. */
  remove(task: ScanTask): boolean;
  /** The next one, or the next small one. */
  take(which: "any" | "small"): ScanTask | undefined;
  /** How many there are that `take` would give. */
  count(which: "any" | "small"): number;
  empty(): ScanTask[];
  /** A thread has it from now on. */
  begun(task: ScanTask): void;
  ended(task: ScanTask): void;
}

export function waitingLine(): WaitingLine {
  const line: ScanTask[] = [];
  const given = turns();
  /** How many threads each share has. */
  const held = new Map<string, number>();

  function isBefore(one: ScanTask, other: ScanTask): boolean {
    if (one.share === other.share) return false;
    const fewer = (held.get(one.share) ?? 0) - (held.get(other.share) ?? 0);
    return fewer < 0 || (fewer === 0 && given.of(one.share) < given.of(other.share));
  }

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
      const ready = which === "any" ? line : line.filter(({ small }) => small);
      const [first, ...others] = ready;
      if (!first) return undefined;
      const next = others.reduce((best, task) => (isBefore(task, best) ? task : best), first);
      given.served(new Map([[next.share, 1]]), () => 1);
      remove(next);
      return next;
    },
    count: (which) => (which === "any" ? line : line.filter(({ small }) => small)).length,
    empty: () => line.splice(0),
    begun: ({ share }) => void held.set(share, (held.get(share) ?? 0) + 1),
    ended({ share }) {
      const left = (held.get(share) ?? 0) - 1;
      if (left > 0) held.set(share, left);
      else held.delete(share);
    },
  };
}
