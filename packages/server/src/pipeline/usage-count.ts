import { gate } from "../flow/gate.ts";
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

/** Tenants whose use is read at once: requests wait for it, and many tenants may have some. Others need the store, too. */
const READS_AT_ONCE = 4;
const never = new AbortController().signal;

export function usageCount(meter: UsageMeter): UsageCount {
  /** By tenant, and then by key: no text is put together for each file. */
  let unwritten = new Map<string, Map<string, AccountUse>>();
  /** Nothing is read while it is written, and the other way round: all is counted once. */
  let writing: Promise<void> = Promise.resolve();
  const reads = new Set<Promise<unknown>>();
  const toRead = gate({ slots: READS_AT_ONCE });

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

  function writeInTurn(): Promise<void> {
    writing = Promise.allSettled([writing, ...reads]).then(write);
    return writing;
  }

  async function read(tenant: string): Promise<ReadonlyMap<string, Use>> {
    const leave = await toRead.enter(never);
    try {
      const all = new Map(await meter.thisMonth(tenant));
      for (const [key, use] of unwritten.get(tenant) ?? []) all.set(key, bothUses(all.get(key) ?? noUse, use));
      return all;
    } finally {
      leave();
    }
  }

  async function write(): Promise<void> {
    if (unwritten.size === 0) return;
    const used = [...unwritten.values()].flatMap((keys) => [...keys.values()]);
    unwritten = new Map();
    await meter.add(used).catch(() => {
      for (const each of used) Object.assign(useOf(each), bothUses(useOf(each), each));
    });
  }

  const timer = setInterval(() => void writeInTurn(), USAGE_EVERY_MS);
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
    async thisMonth(tenant) {
      const reading = writing.then(() => read(tenant));
      reads.add(reading);
      try {
        return await reading;
      } finally {
        reads.delete(reading);
      }
    },
    write: writeInTurn,
    async close() {
      clearInterval(timer);
      await writeInTurn();
    },
  };
}

/** Of all keys of a tenant. */
export function usedThisMonth({ thisMonth }: Pick<UsageMeter, "thisMonth">): (tenant: string) => Promise<Use> {
  return async (tenant) => useOfAll(await thisMonth(tenant));
}
