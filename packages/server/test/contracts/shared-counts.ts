import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SILENT_MS } from "../../src/access/shared-counts.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { oddText } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

/** As JSON, which escapes what is no text. */
const odd = JSON.stringify(oddText);

async function heard(stores: Stores, process: string, content: string): Promise<Record<string, string>> {
  return Object.fromEntries(await stores.sharedCounts.exchange(process, content));
}

/** What every `SharedCounts` does. */
export function sharedCountsContract({ name, make, toldClock }: Platform): void {
  describe(`the shared counts of ${name}`, () => {
    test("each process hears what the others said last, and not itself", async () => {
      await using stores = await make();
      await using other = await stores.another();
      assert.deepEqual(await heard(stores, "a", "1"), {});
      assert.deepEqual(await heard(other, "b", odd), { a: "1" });
      assert.deepEqual(await heard(stores, "a", "2"), { b: odd });
      assert.deepEqual(await heard(stores, "a", "3"), { b: odd });
      assert.deepEqual(await heard(other, "c", ""), { a: "3", b: odd });
    });

    test("many at once all come through, with as much to say as 1,500 keys have", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const content = "x".repeat(250_000);
      const processes = Array.from({ length: 4 }, (_, index) => `process ${index}`);
      await Promise.all(processes.map((each, index) => heard(index % 2 ? other : stores, each, content)));
      const all = await heard(stores, "last", "");
      assert.deepEqual(Object.keys(all).sort(), processes);
      for (const said of Object.values(all)) assert.equal(said.length, content.length);
    });

    test("what cannot be written is refused with QueueUnavailable", async () => {
      await using stores = await make();
      await using unwritable = await stores.unwritable();
      await assert.rejects(unwritable.sharedCounts.exchange("a", "1"), QueueUnavailable);
    });

    if (!toldClock) return;

    test("who has said nothing for a while is forgotten, also when the clock is set back", async () => {
      await using stores = await make();
      await heard(stores, "a", "1");
      await stores.advance(SILENT_MS / 1000);
      assert.deepEqual(await heard(stores, "b", "1"), { a: "1" });
      await stores.advance(1);
      assert.deepEqual(await heard(stores, "c", "1"), { b: "1" });
      await stores.advance(-86_400);
      assert.deepEqual(await heard(stores, "d", "1"), {});
      assert.deepEqual(await heard(stores, "c", "2"), { d: "1" });
    });
  });
}
