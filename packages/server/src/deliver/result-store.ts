import type { Report } from "../model/report.ts";

/**
 * Results for polling, kept 24 hours. A trace id belongs to its newest submission: until that one is finished there is
 * no result, and an older job that finishes late changes nothing. The newest is the last that was expected, whatever
 * the clock said.
 */
export interface ResultStore {
  /**
   * Called before a job is queued. From now on this submission is the newest of its trace id. Stays until its result
   * came, however long the job waits. Durable at the latest when the job is. Throws `QueueUnavailable`.
   */
  expect(submission: Submission): Promise<void>;
  /**
   * Keeps a result, unless a newer submission is expected. May be called again: the first one stays, and no longer for
   * it. Durable when it resolves. Throws `QueueUnavailable`.
   */
  keep(submission: Submission, report: Report): Promise<void>;
  /**
   * Undefined while unfinished, unknown, or older than 24 hours, whether or not anything swept it. Throws
   * `QueueUnavailable`.
   */
  find(traceId: string): Promise<Report | undefined>;
}

export interface Submission {
  traceId: string;
  jobId: string;
  submittedAt: number;
}
