import { type Callback, type Job, type JobSource, noFailures } from "../model/job.ts";

export interface SubmitOptions {
  /** Notes that this submission is the newest of its trace id. */
  expect(submission: { traceId: string; jobId: string; submittedAt: number }): Promise<void>;
  /** Resolves when the job is durable. */
  add(job: Job): Promise<void>;
  newId(): string;
  now(): number;
}

interface Submission {
  source: JobSource;
  keyDigest: string;
  traceId?: string;
  customData?: string;
  callback?: Callback;
}

export type SubmitJob = (submission: Submission) => Promise<Job>;

/** From a checked request to a durable job. When this resolves, the job may be acknowledged: it is never lost. */
export function submitJob({ expect, add, newId, now }: SubmitOptions): SubmitJob {
  return async (submission) => {
    const job: Job = { id: newId(), submittedAt: now(), ...submission, ...noFailures };
    const { traceId, id: jobId, submittedAt } = job;
    // Asked for together, so that a platform can write both or neither: a submission that is refused must not hide the
    // result of the one before it.
    await Promise.all([traceId === undefined ? undefined : expect({ traceId, jobId, submittedAt }), add(job)]);
    return job;
  };
}
