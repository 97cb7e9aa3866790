import type { BigIntStats } from "node:fs";

type Times = Pick<BigIntStats, "ctimeMs" | "ctimeNs" | "mtimeNs">;

/** Tells by their times which files came to a bucket since then; to be asked in the order in which it is walked. */
export interface CameSince {
  /** Before what is in the folder. */
  enter(base: string, times: Times): void;
  has(key: string, times: Times): boolean;
}

/**
 * A folder that was moved here has a younger record than content: what is in it may be old, but is new here. One in which
 * files came or went has both from the same moment.
 */
export function cameSince(since: number): CameSince {
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
