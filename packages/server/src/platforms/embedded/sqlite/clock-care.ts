import type { DatabaseSync } from "node:sqlite";

/**
 * A clock that was set back would make jobs wait as long as it was wrong, for ever if it was wrong by years. So a job
 * whose delay or lease began in the future waits its whole length again, from now on; never longer.
 */
export interface ClockCare {
  /** What the clock said when something was written. */
  saw(now: number): void;
  /** Looks for such jobs: at the start, when the clock is seen to go back, and now and then. */
  rebase(now: number): void;
}

/** For a clock that was wrong for a moment only, in which another process wrote. */
const LOOK_EVERY_MS = 10_000;

export function clockCare(db: DatabaseSync, lookEveryMs = LOOK_EVERY_MS): ClockCare {
  const rebase = db.prepare(
    "UPDATE jobs SET since = $now, due_at = $now + (due_at - since) WHERE due_at > $now AND since > $now",
  );
  let latest = Number.POSITIVE_INFINITY;
  let lookedAt = 0;
  return {
    saw(now) {
      latest = Math.max(latest, now);
    },
    rebase(now) {
      if (now < latest || performance.now() - lookedAt >= lookEveryMs) {
        rebase.run({ now });
        lookedAt = performance.now();
      }
      latest = now;
    },
  };
}
