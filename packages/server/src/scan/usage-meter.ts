import type { Account } from "../model/tenant.ts";

/**
 * Files that were scanned, and their bytes, by calendar month (UTC) and account: for limits and for people who want to know, not for
 * bills. Each adapter passes test/contracts/usage.ts.
 */
export interface UsageMeter {
  /** Adds to this month. May be lost in a crash. Throws `QueueUnavailable`. */
  add(used: readonly AccountUse[]): Promise<void>;
  /** Of a tenant, by the names of its keys; those that used nothing are left out. Throws `QueueUnavailable`. */
  thisMonth(tenant: string): Promise<ReadonlyMap<string, Use>>;
}

export interface Use {
  files: number;
  bytes: number;
}

export type AccountUse = Account & Use;

/** What all keys of a tenant used together. */
export function useOfAll(keys: ReadonlyMap<string, Use>): Use {
  let [files, bytes] = [0, 0];
  for (const use of keys.values()) {
    files += use.files;
    bytes += use.bytes;
  }
  return { files, bytes };
}

/** `2026-11` */
export function monthOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}
