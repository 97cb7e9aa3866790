import type { Job } from "../model/job.ts";
import { type Lease, MAX_ATTEMPTS, MAX_TRIALS } from "./job-queue.ts";

/** A job as it is to be run. */
interface Suspicion {
  job: Job;
  /** Its worker died or stood still with it, before it was scanned: it is scanned alone. */
  suspect: boolean;
  /** It was alone too often, or its worker died too often in other ways. */
  poison: boolean;
}

export function suspicionOf({ job, attempt }: Pick<Lease, "job" | "attempt">): Suspicion {
  const lostLeases = job.lostLeases + attempt - 1;
  const suspect = job.report === undefined && (job.suspect === true || lostLeases > 0 || job.failedTrials > 0);
  const poison = suspect && (job.failedTrials >= MAX_TRIALS || lostLeases >= MAX_ATTEMPTS);
  return { job: suspect ? { ...job, suspect, lostLeases } : job, suspect, poison };
}

/** The job as it is while nobody knows whether its worker comes through. The queue itself goes on counting leases. */
export function onTrial(progress: Job, { job: { lostLeases } }: Pick<Lease, "job">): Job {
  return { ...progress, lostLeases, failedTrials: progress.failedTrials + 1 };
}
