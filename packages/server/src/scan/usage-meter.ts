/**
 * Files that were scanned, by calendar month (UTC): for people who want to know, not for bills. Each adapter passes
 * test/contracts/usage.ts.
 */
export interface UsageMeter {
  /** Adds to this month. May be lost in a crash. Throws `QueueUnavailable`. */
  add(scans: number): Promise<void>;
  /** Throws `QueueUnavailable`. */
  thisMonth(): Promise<number>;
}

/** `2026-11` */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
