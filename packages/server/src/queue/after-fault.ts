import { QueueUnavailable } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Settlement } from "../model/settlement.ts";

const AFTER_FAULT_SECONDS = 30;
/** Runs that may end with an error of ours before the job is buried; the waits between double. */
const MAX_FAULTS = 5;
const LONGEST_REASON = 300;

/** What becomes of a job whose run threw. */
export function afterFault(job: Job, error: unknown): Exclude<Settlement, { kind: "done" }> {
  if (error instanceof QueueUnavailable)
    return { kind: "again", afterSeconds: AFTER_FAULT_SECONDS, job, why: "the queue could not be written" };
  const failedRuns = job.failedRuns + 1;
  const failed = { ...job, failedRuns };
  const reason = `fault: ${error instanceof Error ? error.message : String(error)}`.slice(0, LONGEST_REASON);
  if (failedRuns >= MAX_FAULTS) return { kind: "buried", reason, job: failed };
  const afterSeconds = AFTER_FAULT_SECONDS * 2 ** (failedRuns - 1);
  return { kind: "again", afterSeconds, job: failed, why: reason };
}
