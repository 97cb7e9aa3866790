import { hash } from "node:crypto";
import type { BigIntStats } from "node:fs";

/** Which versions of which objects were seen, in eight bytes for each: there may be millions. */
export interface ObjectMarks {
  has(mark: number): boolean;
}

export interface GrowingMarks {
  add(mark: number): void;
  /** All that were added. Nothing is added after that. */
  done(): ObjectMarks;
}

/** 53 bits of a hash: that a new object among millions looks like another is less likely than one in a billion. */
export function markOf(key: string, version: string): number {
  const digest = hash("sha256", `${version} ${key}`, "buffer");
  return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3);
}

export function growingMarks(): GrowingMarks {
  let marks = new Float64Array(1024);
  let count = 0;
  return {
    add(mark) {
      if (count === marks.length) {
        const more = new Float64Array(count * 2);
        more.set(marks);
        marks = more;
      }
      marks[count] = mark;
      count += 1;
    },
    done() {
      const sorted = marks.slice(0, count).sort();
      return { has: (mark) => sorted[indexOf(sorted, mark)] === mark };
    },
  };
}

/** Where it is in sorted numbers, or where it would be. */
function indexOf(sorted: Float64Array, mark: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < mark) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Versions that a watcher gave out since the last sweep began, so that the next does not give them out again. */
export interface RecentMarks {
  has(mark: number): boolean;
  add(mark: number): void;
  sweepBegins(): void;
  /** The sweep has seen all that was given out before it began, and remembers it from now on. */
  sweepEnded(): void;
}

/** Beyond, some are given out twice. */
const MAX_MARKS = 500_000;

export function recentMarks(maxMarks = MAX_MARKS): RecentMarks {
  let before = new Set<number>();
  let since = new Set<number>();
  return {
    has: (mark) => since.has(mark) || before.has(mark),
    add(mark) {
      if (since.size >= maxMarks) since.clear();
      since.add(mark);
    },
    sweepBegins() {
      // What a sweep that failed has left over stays, as long as there is room.
      before = before.size + since.size > maxMarks ? since : before.union(since);
      since = new Set();
    },
    sweepEnded() {
      before = new Set();
    },
  };
}

type Times = Pick<BigIntStats, "ctimeMs" | "ctimeNs" | "mtimeNs">;

/** Knows by their times which files came to a bucket since then; to be asked in the order in which it is walked. */
export interface Arrivals {
  /** Before what is in the folder. */
  enter(base: string, times: Times): void;
  has(key: string, times: Times): boolean;
}

/**
 * A folder that was moved here has a younger record than content: what is in it may be old, but is new here. One in which
 * files came or went has both from the same moment.
 */
export function arrivedSince(since: number): Arrivals {
  let movedIn: string | undefined;
  const isInMoved = (path: string): boolean => movedIn !== undefined && path.startsWith(movedIn);
  return {
    enter(base, { ctimeMs, ctimeNs, mtimeNs }) {
      if (base === "" || isInMoved(base)) return;
      movedIn = Number(ctimeMs) >= since && mtimeNs !== ctimeNs ? base : undefined;
    },
    has: (key, { ctimeMs }) => Number(ctimeMs) >= since || isInMoved(key),
  };
}
