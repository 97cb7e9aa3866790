import type { Account } from "../model/tenant.ts";

/**
 * Files that were accepted and scanned, and their bytes, by calendar month (UTC) and account: for limits and for people who want to
 * know, not for bills. Each adapter passes test/contracts/usage.ts.
 */
export interface UsageMeter {
  /** Adds to this month. May be lost in a crash. Throws `QueueUnavailable`. */
  add(used: readonly AccountUse[]): Promise<void>;
  /** Of a tenant, by the names of its keys; those that used nothing are left out. Throws `QueueUnavailable`. */
  thisMonth(tenant: string): Promise<ReadonlyMap<string, Use>>;
}

export interface Use {
  /** Queued for somebody, or scanned while they waited: what a limit is about. */
  accepted: number;
  /** Scans, those that were tried again each time. */
  files: number;
  /** Of what was scanned. */
  bytes: number;
}

export type AccountUse = Account & Use;

/** What all keys of a tenant used together. */
export function useOfAll(keys: ReadonlyMap<string, Use>): Use {
  let all = noUse;
  for (const use of keys.values()) all = bothUses(all, use);
  return all;
}

export const noUse: Use = { accepted: 0, files: 0, bytes: 0 };

export function bothUses(one: Use, other: Use): Use {
  return {
    accepted: one.accepted + other.accepted,
    files: one.files + other.files,
    bytes: one.bytes + other.bytes,
  };
}

/** `2026-11` */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
