import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import type { Platform } from "./stores.ts";

const DAY = 86_400;

/** What every `UsageMeter` does. */
export function usageContract({ name, make, toldClock }: Platform): void {
  describe(`the usage of ${name}`, () => {
    test("begins with nothing, and adds up", async () => {
      await using stores = await make();
      assert.equal(await stores.usage.thisMonth(), 0);
      for (const scans of [1, 250, 1_000_000]) await stores.usage.add(scans);
      assert.equal(await stores.usage.thisMonth(), 1_000_251);
    });

    test("is there for a process started later", async () => {
      await using stores = await make();
      await stores.usage.add(7);
      await using other = await stores.another();
      assert.equal(await other.usage.thisMonth(), 7);
    });

    test("many who add at once lose nothing of each other", async () => {
      await using stores = await make();
      await using other = await stores.another();
      await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 ? stores : other).usage.add(index)));
      for (const each of [stores, other]) assert.equal(await each.usage.thisMonth(), (60 * 59) / 2);
    });

    test("what cannot be written is refused with QueueUnavailable, and can be added again", async () => {
      await using stores = await make();
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.usage.add(5), QueueUnavailable);
      }
      await stores.usage.add(5);
      assert.equal(await stores.usage.thisMonth(), 5);
    });

    if (!toldClock) return;

    test("begins anew with each calendar month of UTC, at its first moment", async () => {
      await using stores = await make();
      const { usage } = stores;
      const month = new Date(stores.now());
      const next = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1);
      await stores.advance((next - stores.now()) / 1000 - 1);
      await usage.add(3);
      assert.equal(await usage.thisMonth(), 3);
      await stores.advance(1);
      assert.equal(await usage.thisMonth(), 0);
      await usage.add(4);
      await stores.advance(27 * DAY);
      assert.equal(await usage.thisMonth(), 4);
      await stores.advance(365 * DAY);
      assert.equal(await usage.thisMonth(), 0, "the same month of another year is another month");
    });
  });
}
