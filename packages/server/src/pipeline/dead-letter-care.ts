import type { Log } from "../log.ts";
import type { Gauge } from "../metrics/gauges.ts";
import type { DeadLetters } from "../queue/job-queue.ts";

export interface DeadLetterCare extends AsyncDisposable {
  readonly gauges: readonly Gauge[];
}

export interface CareOptions {
  deadLetters: DeadLetters;
  /** How long dead letters are kept. */
  days: number;
  log: Log;
  now: () => number;
  checkEveryMs?: number;
}

const DAY_MS = 86_400_000;
/** So long before a dead letter is deleted it is warned of. */
const WARNED_MS = 2 * DAY_MS;
const CHECK_EVERY_MS = 600_000;
const WARN_EVERY_MS = 3_600_000;

/**
 * Deletes dead letters that nobody wanted for so long, a line for each, and warns before. Nothing is deleted at the start: a
 * machine that has just been switched on may not know the time yet. Where the platform does that by itself there is nothing
 * to do.
 */
export function startDeadLetterCare(options: CareOptions): DeadLetterCare {
  const { deadLetters, days, log, now, checkEveryMs = CHECK_EVERY_MS } = options;
  const { expire, countBefore } = deadLetters;
  if (!expire || !countBefore) return { gauges: [], [Symbol.asyncDispose]: async () => {} };
  const expiring = (): Promise<number> => countBefore(now() - days * DAY_MS + WARNED_MS);
  let warnedAt = Number.NEGATIVE_INFINITY;

  async function warn(): Promise<void> {
    if (now() - warnedAt < WARN_EVERY_MS) return;
    const count = await expiring();
    if (count === 0) return;
    warnedAt = now();
    log.error("dead_letters", { expiring: count, within_days: 2, kept_days: days, hint: "lazaret dlq list" });
  }

  async function check(): Promise<void> {
    const expired = await expire?.(now() - days * DAY_MS);
    for (const { id, buriedAt } of expired ?? []) {
      log.error("dead_letter_expired", { job_id: id, buried_at: new Date(buriedAt).toISOString(), kept_days: days });
    }
    await warn();
  }

  const gauges: Gauge[] = [
    {
      name: "lazaret_dead_letters_expiring",
      read: async () => [{ value: await expiring() }],
    },
  ];

  const failed = (error: Error): void => log.error("dead_letters", { error: error.message });
  let checking: Promise<void> = warn().catch(failed);
  const timer = setInterval(() => {
    checking = checking.then(check).catch(failed);
  }, checkEveryMs);
  timer.unref();
  return {
    gauges,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await checking;
    },
  };
}
