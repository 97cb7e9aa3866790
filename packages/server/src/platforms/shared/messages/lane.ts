/**
 * How much may be sent to one receiver right now.
 *
 *   up ──8 failures in a row──▶ down ──success──▶ up
 *
 * While it is up, a bounded number at once. While it is down, one message at a time is tried, and after each failure the
 * receiver is left alone for longer: its backlog, however long, costs next to nothing.
 */
export interface Lane {
  /** How many sends may begin now. */
  room(): number;
  began(): void;
  ended(how: "sent" | "failed" | "untried"): void;
}

export interface LaneOptions {
  atOnce: number;
  /** Milliseconds since 1970. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
}

const FIRST_SECONDS = 5;
const LONGEST_SECONDS = 600;
/** By how much of itself a wait is made shorter at most, so that what failed together parts. */
const JITTER = 0.2;
const DOWN_AFTER = 8;

export function lane({ atOnce, now, random }: LaneOptions): Lane {
  let underWay = 0;
  let failuresInARow = 0;
  let restsSince = 0;
  let restMs = 0;

  function rests(): boolean {
    const restedMs = now() - restsSince;
    // A clock that was set back ends the rest.
    return restedMs >= 0 && restedMs < restMs;
  }

  return {
    room() {
      if (failuresInARow < DOWN_AFTER) return atOnce - underWay;
      return underWay === 0 && !rests() ? 1 : 0;
    },
    began() {
      underWay += 1;
    },
    ended(how) {
      underWay -= 1;
      if (how === "sent") failuresInARow = 0;
      if (how !== "failed") return;
      failuresInARow += 1;
      if (failuresInARow < DOWN_AFTER) return;
      restsSince = now();
      restMs = waitSeconds(failuresInARow - DOWN_AFTER + 1, random) * 1000;
    },
  };
}

/** The wait after so many failures, the first being 1: 5, 10, 20 s and so on, 10 minutes at most, less some jitter. */
export function waitSeconds(failures: number, random: () => number): number {
  const seconds = Math.min(FIRST_SECONDS * 2 ** (failures - 1), LONGEST_SECONDS);
  return seconds * (1 - JITTER * random());
}
