import type { Job } from "../../../model/job.ts";
import type { JobChanges } from "./items/job-changes.ts";
import type { JobKey } from "./items/job-item.ts";

/** A lease of this process. */
export interface HeldLease {
  key: JobKey;
  token: string;
  /** The job as its message has it. */
  base: Job;
  /** That message. */
  body: string;
  changes: JobChanges | undefined;
  /** The newest receipt of the message. */
  receipt: string;
  /** The message may have become visible meanwhile, so that the receipt is worth nothing. */
  receiptLost: boolean;
}

/**
 * The leases of this process by token. A process that was paused for longer than a lease finds its message visible again,
 * and may be the very one that receives it next: the lease then goes on with the new receipt.
 */
export type HeldLeases = Map<string, HeldLease>;
