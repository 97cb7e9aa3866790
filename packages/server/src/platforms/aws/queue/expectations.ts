import type { Job } from "../../../model/job.ts";

/** An expectation that is on its way into the table, and the way to take it back. */
export interface Expectation {
  /** Rejects when it could not be written. */
  written: Promise<void>;
  /** Brings back what was there before, unless something happened since. */
  undo(): Promise<void>;
}

/**
 * Ties a submission's `expect` to its `add`: both are asked for in one turn of the event loop. The job is sent after the
 * expectation was written, so that no worker is faster; a job that could not be sent takes its expectation back, so that
 * it does not hide the result of the submission before it.
 */
export interface Expectations {
  note(jobId: string, expectation: Expectation): void;
  /** Undefined for a job without one. */
  of(jobId: string): Expectation | undefined;
  /** For a job that waits longer than expectations are kept. */
  prolong(job: Job): Promise<void>;
}

export function expectations(prolong: (job: Job) => Promise<void>): Expectations {
  const noted = new Map<string, Expectation>();
  return {
    note(jobId, expectation) {
      noted.set(jobId, expectation);
      setImmediate(() => noted.delete(jobId));
    },
    of: (jobId) => noted.get(jobId),
    prolong,
  };
}
