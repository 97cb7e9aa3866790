/** Wait before the first retry when the server names none; doubled before each further one. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8_000;
/** A server that asks for more is believed: the error is thrown now instead of after that time. */
const LONGEST_RETRY_AFTER_SECONDS = 60;

export interface Setback {
  /** Tries that have failed so far, from 1. */
  failed: number;
  retries: number;
  retryAfterSeconds?: number | undefined;
}

/** How long to wait before the next try; undefined when there is none. `random` is in [0, 1). */
export function waitBeforeRetryMs(setback: Setback, random: number): number | undefined {
  const { failed, retries, retryAfterSeconds } = setback;
  if (failed > retries) return undefined;
  if (retryAfterSeconds !== undefined) {
    if (retryAfterSeconds > LONGEST_RETRY_AFTER_SECONDS) return undefined;
    // Later than asked for, never sooner, and not all clients at once.
    return retryAfterSeconds * 1000 * (1 + random / 4);
  }
  return withJitter(FIRST_WAIT_MS * 2 ** (failed - 1), LONGEST_WAIT_MS, random);
}

/** Between half of the time and all of it. */
export function withJitter(ms: number, longestMs: number, random: number): number {
  return Math.min(ms, longestMs) * (0.5 + random / 2);
}

/** Retry-After, in seconds or as a date. */
export function retryAfterSeconds(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value);
  // Date.parse finds years in almost anything.
  const at = /^[A-Z][a-z]+, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}
