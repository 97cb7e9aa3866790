import type { Account } from "../model/tenant.ts";
import { type AccountUse, type UsageMeter, type Use, useOfAll } from "../scan/usage-meter.ts";
import { USAGE_EVERY_MS } from "./limits.ts";

/** Counts scans, and writes them down now and then: a write for each would cost more than many a scan. */
export interface UsageCount {
  scanned(account: Account, bytes: number): void;
  /** With what was not written down yet. */
  thisMonth(tenant: string): Promise<ReadonlyMap<string, Use>>;
  /** Writes down the rest. */
  close(): Promise<void>;
}

export function usageCount(meter: UsageMeter): UsageCount {
  /** By tenant and key, neither of which has a space. */
  let unwritten = new Map<string, AccountUse>();

  function count({ tenant, key }: Account, files: number, bytes: number): void {
    const name = `${tenant} ${key}`;
    const use = unwritten.get(name) ?? { tenant, key, files: 0, bytes: 0 };
    use.files += files;
    use.bytes += bytes;
    unwritten.set(name, use);
  }

  async function write(): Promise<void> {
    if (unwritten.size === 0) return;
    const used = [...unwritten.values()];
    unwritten = new Map();
    await meter.add(used).catch(() => {
      for (const each of used) count(each, each.files, each.bytes);
    });
  }

  const timer = setInterval(() => void write(), USAGE_EVERY_MS);
  timer.unref();
  return {
    scanned: (account, bytes) => count(account, 1, bytes),
    async thisMonth(tenant) {
      const all = new Map(await meter.thisMonth(tenant));
      for (const { key, files, bytes } of [...unwritten.values()].filter((each) => each.tenant === tenant)) {
        const written = all.get(key);
        all.set(key, { files: files + (written?.files ?? 0), bytes: bytes + (written?.bytes ?? 0) });
      }
      return all;
    },
    async close() {
      clearInterval(timer);
      await write();
    },
  };
}

/** Of all keys of a tenant. */
export function filesThisMonth({ thisMonth }: Pick<UsageMeter, "thisMonth">): (tenant: string) => Promise<number> {
  return async (tenant) => useOfAll(await thisMonth(tenant)).files;
}
