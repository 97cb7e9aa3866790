import type { Submission } from "../../../deliver/result-store.ts";
import type { Job } from "../../../model/job.ts";

/** An expectation that is on its way into the table, and the way to take it back. */
export interface Expectation {
  /** Rejects when it could not be written. */
  written: Promise<void>;
  /** Brings back what was there before, unless something happened since. */
  undo(): Promise<void>;
}

/**
 * Whose submission is the newest of a trace id. A job is sent after its expectation was written, so that no worker is faster;
 * one that could not be sent takes its expectation back, so that it does not hide the result of the submission before it.
 */
export interface Expectations {
  expect(submission: Submission): Expectation;
  /** For a job that waits longer than expectations are kept. */
  prolong(job: Job): Promise<void>;
}
