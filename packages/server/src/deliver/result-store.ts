import type { Report } from "../model/report.ts";
import type { Trace } from "../model/tenant.ts";

/**
 * Results for polling, kept 24 hours, each tenant's apart. A trace id belongs to its newest submission: until that one is finished there is
 * no result, and an older job that finishes late changes nothing. The newest is the last that was added to the queue,
 * whatever the clock said. Each adapter passes test/contracts/result-store.ts.
 */
export interface ResultStore {
  /**
   * Keeps a result, unless there is a newer submission. May be called again: the first one stays, and no longer for
   * it. Durable when it resolves. Throws `QueueUnavailable`.
   */
  keep(job: TracedJob, report: Report): Promise<void>;
  /**
   * Undefined while unfinished, unknown, or older than 24 hours, whether or not anything swept it. Throws
   * `QueueUnavailable`.
   */
  find(trace: Trace): Promise<Report | undefined>;
}

/** A job that is polled for. */
export interface TracedJob extends Trace {
  jobId: string;
  submittedAt: number;
}
