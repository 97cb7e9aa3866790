import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/support/until.ts";
import { type AccountUse, bothUses, noUse, type UsageMeter, type Use } from "../scan/usage-meter.ts";
import { usageCount } from "./usage-count.ts";

/** Answers when it is told to. */
function slowMeter(): UsageMeter & { asked: string[]; answer(): void } {
  const kept = new Map<string, Use>();
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const told = (what: string): Promise<void> => {
    asked.push(what);
    return new Promise((resolve) => waiting.push(resolve));
  };
  return {
    asked,
    answer() {
      for (const resolve of waiting.splice(0)) resolve();
    },
    async add(used: readonly AccountUse[]) {
      await told("add");
      for (const { tenant, key: _, ...use } of used) kept.set(tenant, bothUses(kept.get(tenant) ?? noUse, use));
    },
    async thisMonth(tenant) {
      const use = kept.get(tenant) ?? noUse;
      await told(tenant);
      return new Map([["web", use]]);
    },
  };
}

const acceptedOf = async (reading: Promise<ReadonlyMap<string, Use>>): Promise<number | undefined> =>
  (await reading).get("web")?.accepted;

test("the use of several tenants is read at once, and of so many only", async () => {
  const meter = slowMeter();
  const usage = usageCount(meter);
  const all = Promise.all(["a", "b", "c", "d", "e", "f"].map((tenant) => usage.thisMonth(tenant)));
  await until("four are read", () => meter.asked.length === 4);
  meter.answer();
  await until("the others are", () => meter.asked.length === 6);
  meter.answer();
  await all;
  await usage.close();
});

test("what is read beside a write is counted once", async () => {
  const meter = slowMeter();
  const usage = usageCount(meter);
  const account = { tenant: "a", key: "web" };
  usage.accepted(account);
  const before = acceptedOf(usage.thisMonth("a"));
  const written = usage.write();
  usage.accepted(account);
  const after = acceptedOf(usage.thisMonth("a"));
  for (const expected of [["a"], ["a", "add"], ["a", "add", "a"]]) {
    await until("it is the turn of the next", () => meter.asked.length === expected.length);
    assert.deepEqual(meter.asked, expected);
    meter.answer();
  }
  await written;
  assert.deepEqual([await before, await after], [2, 2]);
  await usage.close();
});
