/**
 * What the processes of an installation say to each other, so that limits hold for all of them together. Each adapter passes
 * test/contracts/shared-counts.ts.
 */
export interface SharedCounts {
  /**
   * Puts this in place of what the process said before, and answers what the others said last, each by its name. Of one that has said
   * nothing for `SILENT_MS` nothing is known any more. May be lost in a crash. Throws `QueueUnavailable`.
   */
  exchange(process: string, content: string): Promise<ReadonlyMap<string, string>>;
}

/** Whoever says nothing for as long is gone, and with it what it had under way. */
export const SILENT_MS = 15_000;
