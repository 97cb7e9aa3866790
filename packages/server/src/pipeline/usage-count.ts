import type { Account } from "../model/tenant.ts";
import { type AccountUse, bothUses, noUse, type UsageMeter, type Use, useOfAll } from "../scan/usage-meter.ts";
import { USAGE_EVERY_MS } from "./limits.ts";

/** Counts what was accepted and scanned, and writes it down now and then: a write for each would cost more than many a scan. */
export interface UsageCount {
  accepted(account: Account): void;
  scanned(account: Account, bytes: number): void;
  /** With what was not written down yet: of this process, all. */
  thisMonth(tenant: string): Promise<ReadonlyMap<string, Use>>;
  /** Writes down what was not yet. Never throws: it stays unwritten then. */
  write(): Promise<void>;
  /** Writes down the rest. */
  close(): Promise<void>;
}

export function usageCount(meter: UsageMeter): UsageCount {
  /** By tenant, and then by key: no text is put together for each file. */
  let unwritten = new Map<string, Map<string, AccountUse>>();
  /** One after the other: what is read while it is written is counted once. */
  let last: Promise<unknown> = Promise.resolve();

  function useOf({ tenant, key }: Account): AccountUse {
    let keys = unwritten.get(tenant);
    if (!keys) {
      keys = new Map();
      unwritten.set(tenant, keys);
    }
    let use = keys.get(key);
    if (!use) {
      use = { tenant, key, ...noUse };
      keys.set(key, use);
    }
    return use;
  }

  function inTurn<Value>(next: () => Promise<Value>): Promise<Value> {
    const done = last.then(next);
    last = done.catch(() => {});
    return done;
  }

  async function write(): Promise<void> {
    if (unwritten.size === 0) return;
    const used = [...unwritten.values()].flatMap((keys) => [...keys.values()]);
    unwritten = new Map();
    await meter.add(used).catch(() => {
      for (const each of used) Object.assign(useOf(each), bothUses(useOf(each), each));
    });
  }

  const timer = setInterval(() => void inTurn(write), USAGE_EVERY_MS);
  timer.unref();
  return {
    accepted(account) {
      useOf(account).accepted += 1;
    },
    scanned(account, bytes) {
      const use = useOf(account);
      use.files += 1;
      use.bytes += bytes;
    },
    thisMonth: (tenant) =>
      inTurn(async () => {
        const all = new Map(await meter.thisMonth(tenant));
        for (const [key, use] of unwritten.get(tenant) ?? []) all.set(key, bothUses(all.get(key) ?? noUse, use));
        return all;
      }),
    write: () => inTurn(write),
    async close() {
      clearInterval(timer);
      await inTurn(write);
    },
  };
}

/** Of all keys of a tenant. */
export function usedThisMonth({ thisMonth }: Pick<UsageMeter, "thisMonth">): (tenant: string) => Promise<Use> {
  return async (tenant) => useOfAll(await thisMonth(tenant));
}
