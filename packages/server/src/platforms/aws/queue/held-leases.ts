import type { Job } from "../../../model/job.ts";
import type { JobKey } from "../job-state.ts";
import type { JobChanges } from "./items/job-changes.ts";

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
  /** So long the message is hidden from others, and the receipt good for something. */
  hiddenUntil: number;
}

/**
 * The leases of this process. One that was paused for longer than a lease finds its message visible again, and may be the
 * very one that receives it next: the lease then goes on with the new receipt.
 */
export interface HeldLeases {
  add(lease: HeldLease): void;
  remove(lease: HeldLease): void;
  byToken(token: string | undefined): HeldLease | undefined;
}

/** What was over for so long is not waited for any more: its settlement failed, and somebody else has it by now. */
const REMEMBERED_MS = 600_000;

export function heldLeases(now: () => number): HeldLeases {
  const held = new Map<string, HeldLease>();
  let swept = now();

  function sweep(): void {
    if (now() - swept < REMEMBERED_MS) return;
    swept = now();
    for (const [token, { hiddenUntil }] of held) if (hiddenUntil < swept - REMEMBERED_MS) held.delete(token);
  }

  return {
    add(lease) {
      sweep();
      held.set(lease.token, lease);
    },
    remove: ({ token }) => void held.delete(token),
    byToken: (token = "") => held.get(token),
  };
}
