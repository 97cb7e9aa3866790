import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Finding, FindingsQuery } from "../../src/deliver/findings.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { DEFAULT_TENANT } from "../../src/model/tenant.ts";
import { newJobId } from "../../src/queue/job-queue.ts";
import { oddText, sampleFinding } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const DAY = 86_400;

/** What every `Findings` does. */
export function findingsContract({ name, make, toldClock, keepsMost = true }: Platform): void {
  describe(`the findings of ${name}`, () => {
    test("what was added is listed, newest first, with every character, also by another process", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.findings.list({ limit: 5 }), { entries: [], next: undefined });
      const all = await added(stores, [
        findingAt(stores, 0, { detail: oddText, member: `a.zip/${oddText}`, traceId: oddText, key: "" }),
        findingAt(stores, 1, {
          source: { kind: "upload" },
          jobId: newJobId(),
          fileType: "pdf",
          sha256: "ab".repeat(32),
        }),
        findingAt(stores, 2, { source: { kind: "object", bucket: "b", key: oddText, version: "7" }, action: "delete" }),
        findingAt(stores, 3, {
          source: { kind: "upload", name: oddText },
          verdict: "no",
          finding: "scanner:encrypted",
        }),
      ]);
      await using other = await stores.another();
      for (const each of [stores, other]) assert.deepEqual(await listed(each), all.toReversed());
    });

    test("of the same again there is one, as it was told last, where it was told first", async () => {
      await using stores = await make();
      const [first] = await added(stores, [findingAt(stores, 0)]);
      assert.ok(first);
      await Promise.all([1, 2, 3].map(() => stores.findings.add(first)));
      assert.deepEqual(await listed(stores), [first]);
      const [second] = await added(stores, [findingAt(stores, 1)]);
      const again = { ...first, action: "no", finding: "another" } as const;
      await stores.findings.add({ ...again, at: first.at + 1000 });
      assert.deepEqual(await listed(stores), [second, again]);
      assert.deepEqual((await stores.findings.list({ limit: 5, until: first.at + 1 }))?.entries, [again]);
    });

    test("a finding that is told of twice at once is there once", async () => {
      await using stores = await make();
      const finding = findingAt(stores, 0);
      await using other = await stores.another();
      await Promise.all([stores, stores, other].map(({ findings }) => findings.add(finding)));
      assert.deepEqual(await listed(stores), [finding]);
    });

    test("lists page by page, though more is found meanwhile", async () => {
      await using stores = await make();
      const all = await added(stores, many(stores, 7));
      const seen: Finding[] = [];
      let after: string | undefined;
      do {
        const page = await stores.findings.list({ limit: 3, ...(after !== undefined && { after }) });
        assert.ok(page && page.entries.length <= 3);
        seen.push(...page.entries);
        after = page.next;
        await added(stores, [findingAt(stores, 1000 + seen.length)]);
      } while (after !== undefined && seen.length < 100);
      assert.deepEqual(seen, all.toReversed());
    });

    test("lists page by page what was found in the same millisecond, none twice and none left out", async () => {
      await using stores = await make();
      const all = await added(
        stores,
        [0, 0, 0, 0, 0].map((at) => findingAt(stores, at)),
      );
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await stores.findings.list({ limit: 2, ...(after !== undefined && { after }) });
        seen.push(...idsOf(page?.entries ?? []));
        after = page?.next;
      } while (after !== undefined && seen.length < 100);
      assert.deepEqual(seen.toSorted(), idsOf(all).toSorted());
    });

    test("a page that holds all has no next", async () => {
      await using stores = await make();
      await added(stores, many(stores, 3));
      const page = await stores.findings.list({ limit: 3 });
      assert.deepEqual([page?.entries.length, page?.next], [3, undefined]);
    });

    test("lists those that are wanted", async () => {
      await using stores = await make();
      const all = await added(stores, [
        findingAt(stores, 0, { traceId: "first-Trace", sha256: "0aF1".repeat(16) }),
        findingAt(stores, 10, { tenant: "shop", source: { kind: "object", bucket: "Invoices", key: "Ä/1.pdf" } }),
        findingAt(stores, 20, { verdict: "no", finding: "scanner:Encrypted" }),
        findingAt(stores, 30, { source: { kind: "upload", name: "Bill.EXE" } }),
      ]);
      const start = stores.now();
      const wanted: [Partial<FindingsQuery>, number[]][] = [
        [{ verdict: "infected" }, [3, 1, 0]],
        [{ verdict: "no" }, [2]],
        [{ tenant: "shop" }, [1]],
        [{ tenant: "nobody" }, []],
        [{ since: start + 10 }, [3, 2, 1]],
        [{ until: start + 20 }, [1, 0]],
        [{ since: start + 10, until: start + 21 }, [2, 1]],
        [{ since: start + 31 }, []],
        [{ text: "FIRST" }, [0]],
        [{ text: "0AF10af1" }, [0]],
        [{ text: "invoices/ä/" }, [1]],
        [{ text: "encrypted" }, [2]],
        [{ text: "bill.exe" }, [3]],
        [{ text: "files.EXAMPLE/" }, [2, 0]],
        [{ text: "files.example", verdict: "infected", tenant: DEFAULT_TENANT, until: start + 5 }, [0]],
      ];
      for (const [query, places] of wanted) {
        const ids = places.map((place) => all[place]?.id);
        assert.deepEqual(idsOf(await listed(stores, query)), ids, JSON.stringify(query));
      }
    });

    test("a filter goes on over the pages", async () => {
      await using stores = await make();
      const all = await added(
        stores,
        many(stores, 8).map((finding, at) => ({ ...finding, verdict: at % 2 ? "no" : "infected" })),
      );
      const wanted = idsOf(all.filter(({ verdict }) => verdict === "no")).toReversed();
      const first = await stores.findings.list({ limit: 2, verdict: "no" });
      assert.deepEqual(idsOf(first?.entries ?? []), wanted.slice(0, 2));
      const second = await stores.findings.list({ limit: 2, verdict: "no", after: first?.next ?? "" });
      assert.deepEqual(idsOf(second?.entries ?? []), wanted.slice(2));
    });

    test("opens a bounded number for one page, and says where to go on", async () => {
      await using stores = await make({ mostRead: 3 });
      const all = await added(
        stores,
        many(stores, 7).map((finding, at) => ({ ...finding, tenant: at === 0 ? "shop" : DEFAULT_TENANT })),
      );
      const sizes: number[] = [];
      let after: string | undefined;
      do {
        const page = await stores.findings.list({ limit: 2, tenant: "shop", ...(after !== undefined && { after }) });
        sizes.push(page?.entries.length ?? -1);
        after = page?.next;
        if (after === undefined) assert.deepEqual(page?.entries, all.slice(0, 1));
      } while (after !== undefined && sizes.length < 20);
      assert.deepEqual(sizes, [0, 0, 1]);
    });

    test("a place that is none of ours lists nothing", async () => {
      await using stores = await make();
      await added(stores, many(stores, 2));
      for (const after of ["", "x", "-1", "9".repeat(40), "1#", oddText])
        assert.equal(await stores.findings.list({ limit: 5, after }), undefined, JSON.stringify(after));
    });

    test("what was damaged is left out, and the rest is listed", async () => {
      await using stores = await make();
      await added(stores, many(stores, 2));
      await stores.damageKept();
      assert.deepEqual(await stores.findings.list({ limit: 5 }), { entries: [], next: undefined });
      const whole = await added(stores, [findingAt(stores, 5)]);
      assert.deepEqual(await listed(stores), whole);
    });

    test("what cannot be kept is refused with QueueUnavailable", async () => {
      await using stores = await make();
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.findings.add(findingAt(stores, 0)), QueueUnavailable);
      }
      assert.deepEqual(await listed(stores), []);
    });

    test("keeps nothing where it is told so", async () => {
      await using stores = await make({ findingsMost: 0 });
      await added(stores, many(stores, 2));
      await stores.sweep();
      assert.deepEqual(await listed(stores), []);
    });

    if (keepsMost) {
      test("keeps no more than it is told: the oldest go", async () => {
        await using stores = await make({ findingsMost: 3 });
        const all = await added(stores, many(stores, 5));
        await stores.sweep();
        assert.deepEqual(await listed(stores), all.slice(2).toReversed());
      });
    }

    if (!toldClock) return;

    test("is kept for as long as it is told, whether or not it is swept", async () => {
      await using stores = await make({ findingsMs: 90 * DAY * 1000 });
      const all = await added(stores, [findingAt(stores, 0)]);
      await stores.advance(90 * DAY - 1);
      await stores.sweep();
      assert.deepEqual(await listed(stores), all);
      await stores.advance(1);
      for (const sweep of [async () => {}, stores.sweep]) {
        await sweep();
        assert.deepEqual(await listed(stores), []);
      }
    });
  });
}

function findingAt(stores: Stores, afterMs: number, parts: Partial<Finding> = {}): Finding {
  return sampleFinding({ at: stores.now() + afterMs, ...parts });
}

function many(stores: Stores, count: number): Finding[] {
  return Array.from({ length: count }, (_, at) => findingAt(stores, at));
}

async function added(stores: Stores, all: readonly Finding[]): Promise<readonly Finding[]> {
  for (const each of all) await stores.findings.add(each);
  return all;
}

async function listed(stores: Stores, query: Partial<FindingsQuery> = {}): Promise<Finding[]> {
  return (await stores.findings.list({ limit: 10, ...query }))?.entries ?? assert.fail("it is no place of ours");
}

function idsOf(all: readonly { id: string }[]): string[] {
  return all.map(({ id }) => id);
}
