import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AuditEntry } from "../../src/access/audit-log.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { oddText } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const DAY = 86_400;

function entryAt(stores: Stores, afterMs: number, parts: Partial<AuditEntry> = {}): AuditEntry {
  const at = stores.now() + afterMs;
  return { at, who: "operator root", tenant: "", what: "keys.create", on: `web ${afterMs}`, from: "host", ...parts };
}

async function addMany(stores: Stores, count: number): Promise<AuditEntry[]> {
  const entries = Array.from({ length: count }, (_, index) => entryAt(stores, index));
  for (const entry of entries) await stores.audit.add(entry);
  return entries;
}

/** What every `AuditLog` does. */
export function auditLogContract({ name, make, toldClock }: Platform): void {
  describe(`the audit log of ${name}`, () => {
    test("what was added is listed, newest first, with every character, also by another process", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.audit.list({ limit: 5 }), { entries: [], next: undefined });
      const [one, two] = [
        entryAt(stores, 0, { on: oddText, details: { scopes: "scan", weight: 2, until: false } }),
        entryAt(stores, 1),
      ];
      for (const each of [one, two]) await stores.audit.add(each);
      await using other = await stores.another();
      for (const each of [stores, other]) assert.deepEqual((await each.audit.list({ limit: 5 }))?.entries, [two, one]);
    });

    test("lists page by page, though more is added meanwhile", async () => {
      await using stores = await make();
      const entries = await addMany(stores, 7);
      const seen: AuditEntry[] = [];
      let after: string | undefined;
      do {
        const page = await stores.audit.list({ limit: 3, ...(after !== undefined && { after }) });
        seen.push(...(page?.entries ?? []));
        after = page?.next;
        await stores.audit.add(entryAt(stores, 1000 + seen.length));
      } while (after !== undefined && seen.length < 100);
      assert.deepEqual(seen, entries.toReversed());
    });

    test("lists those of a time span, its begin included and its end not", async () => {
      await using stores = await make();
      const entries = await addMany(stores, 5);
      const span = { since: stores.now() + 1, until: stores.now() + 3 };
      assert.deepEqual((await stores.audit.list({ limit: 9, ...span }))?.entries, entries.slice(1, 3).toReversed());
      const first = await stores.audit.list({ limit: 1, ...span });
      assert.ok(first?.next !== undefined);
      const second = await stores.audit.list({ limit: 1, ...span, after: first.next });
      assert.deepEqual([first.entries, second?.entries, second?.next], [[entries[2]], [entries[1]], undefined]);
    });

    test("a place that is none of ours lists nothing", async () => {
      await using stores = await make();
      await addMany(stores, 2);
      for (const after of ["", "x", "-1", "9".repeat(40), "1#", oddText])
        assert.equal(await stores.audit.list({ limit: 5, after }), undefined, JSON.stringify(after));
    });

    test("what cannot be kept is refused with QueueUnavailable", async () => {
      await using stores = await make();
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.audit.add(entryAt(stores, 0)), QueueUnavailable);
      }
      assert.deepEqual((await stores.audit.list({ limit: 5 }))?.entries, []);
    });

    if (!toldClock) return;

    test("is kept for 400 days and not longer, though nothing sweeps it", async () => {
      await using stores = await make();
      const [old] = await addMany(stores, 1);
      await stores.advance(400 * DAY - 1);
      assert.deepEqual((await stores.audit.list({ limit: 5 }))?.entries, [old]);
      await stores.advance(1);
      assert.deepEqual((await stores.audit.list({ limit: 5 }))?.entries, []);
    });
  });
}
