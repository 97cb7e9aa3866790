import { type Callback, type Job, type JobSource, noFailures } from "../model/job.ts";

export interface SubmitOptions {
  /** Resolves when the job is durable, and the newest submission of its trace id. */
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
export function submitJob({ add, newId, now }: SubmitOptions): SubmitJob {
  return async (submission) => {
    const job: Job = { id: newId(), submittedAt: now(), ...submission, ...noFailures };
    await add(job);
    return job;
  };
}
