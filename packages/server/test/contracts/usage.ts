import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { DEFAULT_TENANT } from "../../src/model/tenant.ts";
import { type AccountUse, type UsageMeter, useOfAll } from "../../src/scan/usage-meter.ts";
import type { Platform } from "./stores.ts";

const DAY = 86_400;

const account = { tenant: DEFAULT_TENANT, key: "key-1" };

const files = (count: number): AccountUse[] => [{ ...account, accepted: count * 2, files: count, bytes: count * 10 }];

async function scannedFiles(usage: UsageMeter): Promise<number> {
  const { accepted, files: scanned, bytes } = useOfAll(await usage.thisMonth(account.tenant));
  assert.deepEqual([accepted, bytes], [scanned * 2, scanned * 10]);
  return scanned;
}

/** What every `UsageMeter` does. */
export function usageContract({ name, make, toldClock }: Platform): void {
  describe(`the usage of ${name}`, () => {
    test("begins with nothing, and adds up", async () => {
      await using stores = await make();
      assert.equal(await scannedFiles(stores.usage), 0);
      for (const scans of [1, 250, 1_000_000]) await stores.usage.add(files(scans));
      assert.equal(await scannedFiles(stores.usage), 1_000_251);
    });

    test("counts each tenant and each key by itself", async () => {
      await using stores = await make();
      const used = [
        { tenant: "shop", key: "web", accepted: 1, files: 2, bytes: 20 },
        { tenant: "shop", key: "web-2", accepted: 0, files: 3, bytes: 5_000_000_000 },
        { tenant: "shop-web", key: "2", accepted: 7, files: 4, bytes: 0 },
        { tenant: "shop", key: "", accepted: 0, files: 5, bytes: 5 },
      ];
      await stores.usage.add(used);
      await stores.usage.add(used.slice(0, 1));
      const keysOf = async (tenant: string): Promise<object> =>
        Object.fromEntries(await stores.usage.thisMonth(tenant));
      assert.deepEqual(await keysOf("shop"), {
        web: { accepted: 2, files: 4, bytes: 40 },
        "web-2": { accepted: 0, files: 3, bytes: 5_000_000_000 },
        "": { accepted: 0, files: 5, bytes: 5 },
      });
      assert.deepEqual(await keysOf("shop-web"), { 2: { accepted: 7, files: 4, bytes: 0 } });
      assert.deepEqual(await keysOf(DEFAULT_TENANT), {});
    });

    test("is there for a process started later", async () => {
      await using stores = await make();
      await stores.usage.add(files(7));
      await using other = await stores.another();
      assert.equal(await scannedFiles(other.usage), 7);
    });

    test("many who add at once lose nothing of each other", async () => {
      await using stores = await make();
      await using other = await stores.another();
      await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 ? stores : other).usage.add(files(index))));
      for (const each of [stores, other]) assert.equal(await scannedFiles(each.usage), (60 * 59) / 2);
    });

    test("what cannot be written is refused with QueueUnavailable, and can be added again", async () => {
      await using stores = await make();
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.usage.add(files(5)), QueueUnavailable);
      }
      await stores.usage.add(files(5));
      assert.equal(await scannedFiles(stores.usage), 5);
    });

    if (!toldClock) return;

    test("begins anew with each calendar month of UTC, at its first moment", async () => {
      await using stores = await make();
      const { usage } = stores;
      const month = new Date(stores.now());
      const next = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
      await stores.advance((next - stores.now()) / 1000 - 1);
      await usage.add(files(3));
      assert.equal(await scannedFiles(usage), 3);
      await stores.advance(1);
      assert.equal(await scannedFiles(usage), 0);
      await usage.add(files(4));
      await stores.advance(27 * DAY);
      assert.equal(await scannedFiles(usage), 4);
      await stores.advance(365 * DAY);
      assert.equal(await scannedFiles(usage), 0, "the same month of another year is another month");
    });
  });
}
