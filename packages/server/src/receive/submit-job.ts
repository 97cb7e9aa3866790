import { type Job, newJob, type Submission } from "../model/job.ts";

export interface SubmitOptions {
  /** Resolves when the job is durable, and the newest submission of its trace id. */
  add(job: Job): Promise<void>;
  newId(): string;
  now(): number;
}

export type SubmitJob = (submission: Submission) => Promise<Job>;

/** From a checked request to a durable job. When this resolves, the job may be acknowledged: it is never lost. */
export function submitJob({ add, newId, now }: SubmitOptions): SubmitJob {
  return async (submission) => {
    const job = newJob(submission, { id: newId(), submittedAt: now() });
    await add(job);
    return job;
  };
}
