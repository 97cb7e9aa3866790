import { QueueUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Settlement } from "../model/settlement.ts";
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

/** With a second between them, and longer where the database is tried again: together they last longer than a restart or a failover. */
const SETTLED_TRIES = 20;

/**
 * Settles a job whose trial is over. A queue that is away is waited for: the job would answer for that as for a worker's death. Whoever
 * has the job by then keeps it. `pause` resolves to whether there is time for more.
 */
export async function settleTrial(
  lease: Pick<Lease, "settle">,
  settlement: Settlement,
  pause: () => Promise<boolean>,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await lease.settle(settlement);
    } catch (error) {
      if (!(error instanceof QueueUnavailable) || tries === SETTLED_TRIES || !(await pause())) throw error;
    }
  }
}
