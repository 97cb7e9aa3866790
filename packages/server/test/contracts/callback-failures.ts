import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import type { FailedCallback } from "../../src/deliver/callback-failures.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { DEFAULT_TENANT } from "../../src/model/tenant.ts";
import { oddText } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const DAY = 86_400;
const KEPT = 30 * DAY;
const receiver = "https://receiver.example/scans";
const tenant = DEFAULT_TENANT;

/** What every `CallbackFailures` does. */
export function callbackFailuresContract({ name, make, toldClock }: Platform): void {
  describe(`the callback failures of ${name}`, () => {
    test("there are none to begin with", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.callbackFailures.list({ tenant, limit: 10 }), { failures: [], next: undefined });
    });

    test("what was recorded is listed, with every character as it was, also after a crash", async () => {
      await using stores = await make();
      const [whole, bare] = [
        failureAt(stores, 0, { metadata: { attempts: 6, status_code: 503 } }),
        failureAt(stores, 1),
      ];
      for (const each of [whole, bare]) await stores.callbackFailures.record(each);
      await using other = await stores.another();
      for (const each of [stores, other]) {
        assert.deepEqual(await listed(each), [bare, whole]);
      }
    });

    test("lists the newest first, page by page, though more fail meanwhile", async () => {
      await using stores = await make();
      const failures = await recordMany(stores, 7);
      const seen: FailedCallback[] = [];
      let cursor: string | undefined;
      do {
        const page = await stores.callbackFailures.list({ tenant, limit: 3, ...(cursor !== undefined && { cursor }) });
        assert.ok(page && page.failures.length <= 3);
        seen.push(...page.failures);
        cursor = page.next;
        await stores.callbackFailures.record(failureAt(stores, 1000 + seen.length));
      } while (cursor !== undefined);
      assert.deepEqual(seen, failures.toReversed());
    });

    test("a page that holds all has no next", async () => {
      await using stores = await make();
      await recordMany(stores, 3);
      const page = await stores.callbackFailures.list({ tenant, limit: 3 });
      assert.deepEqual([page?.failures.length, page?.next], [3, undefined]);
    });

    test("lists those of one receiver, page by page too", async () => {
      await using stores = await make();
      const callbackUrl = "https://other.example/";
      const mine: FailedCallback[] = [];
      for (let count = 0; count < 9; count += 1) {
        const failure = { ...failureAt(stores, count), ...(count % 3 === 0 && { callbackUrl }) };
        await stores.callbackFailures.record(failure);
        if (count % 3 === 0) mine.unshift(failure);
      }
      const first = await stores.callbackFailures.list({ tenant, limit: 2, callbackUrl });
      assert.ok(first?.next !== undefined);
      const second = await stores.callbackFailures.list({ tenant, limit: 2, callbackUrl, cursor: first.next });
      assert.deepEqual([...first.failures, ...(second?.failures ?? [])], mine);
      assert.equal(second?.next, undefined);
      assert.deepEqual(await listed(stores, { callbackUrl: "https://nobody.example/" }), []);
    });

    test("a tenant sees its own, page by page, also by a cursor of another", async () => {
      await using stores = await make();
      const all = Array.from({ length: 9 }, (_, index) => ({
        ...failureAt(stores, index),
        tenant: ["shop", "shop-2", tenant][index % 3] ?? "",
      }));
      for (const each of all) await stores.callbackFailures.record(each);
      const of = (name: string): FailedCallback[] => all.filter((each) => each.tenant === name).reverse();
      for (const name of ["shop", "shop-2", tenant]) {
        const page = await stores.callbackFailures.list({ tenant: name, limit: 2 });
        assert.deepEqual(page?.failures, of(name).slice(0, 2));
        assert.ok(page.next !== undefined);
        const next = { limit: 10, cursor: page.next };
        assert.deepEqual((await stores.callbackFailures.list({ tenant: name, ...next }))?.failures, of(name).slice(2));
        const others = await stores.callbackFailures.list({ tenant: "shop", ...next });
        assert.ok(others?.failures.every((each) => each.tenant === "shop"));
      }
      const none = { failures: [], next: undefined };
      assert.deepEqual(await stores.callbackFailures.list({ tenant: "sho", limit: 10 }), none);
    });

    test("a cursor that is none of ours lists nothing, not even the first page", async () => {
      await using stores = await make();
      await recordMany(stores, 3);
      for (const cursor of ["", "x", "-1", "1 OR 1=1", "9".repeat(40), "0#", oddText]) {
        assert.equal(
          await stores.callbackFailures.list({ tenant, limit: 10, cursor }),
          undefined,
          JSON.stringify(cursor),
        );
      }
    });

    test("the same job again changes nothing, whenever and from wherever it is recorded", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const failure = failureAt(stores, 0);
      await stores.callbackFailures.record(failure);
      await stores.callbackFailures.record(failure);
      await other.callbackFailures.record({ ...failure, failedAt: failure.failedAt + 5000, downloadUrl: "https://x/" });
      const next = failureAt(stores, 1);
      await other.callbackFailures.record(next);
      assert.deepEqual(await listed(stores), [next, failure]);
    });

    test("those of many jobs at once are all there", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const failures = Array.from({ length: 30 }, () => failureAt(stores, 0));
      await Promise.all(failures.map((each, index) => (index % 2 ? stores : other).callbackFailures.record(each)));
      assert.deepEqual(ids(await listed(stores)).toSorted(), ids(failures).toSorted());
    });

    test("one that cannot be kept is refused with QueueUnavailable, and can be recorded again", async () => {
      await using stores = await make();
      const failure = failureAt(stores, 0);
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.callbackFailures.record(failure), QueueUnavailable);
      }
      assert.deepEqual(await listed(stores), []);
      await stores.callbackFailures.record(failure);
      assert.deepEqual(await listed(stores), [failure]);
    });

    if (!toldClock) return;

    test("one is listed for 30 days and not longer, though nothing sweeps it", async () => {
      await using stores = await make();
      const failure = failureAt(stores, 0);
      await stores.callbackFailures.record(failure);
      await stores.advance(KEPT - 1);
      assert.deepEqual(await listed(stores), [failure]);
      await stores.advance(1);
      assert.deepEqual(await listed(stores), []);
      const later = failureAt(stores, 0);
      await stores.callbackFailures.record(later);
      assert.deepEqual(await listed(stores), [later]);
    });
  });
}

/** Of a job of its own, so many milliseconds after now. */
function failureAt(stores: Stores, afterMs: number, more: Partial<FailedCallback["error"]> = {}): FailedCallback {
  return {
    tenant,
    id: randomUUID(),
    failedAt: stores.now() + afterMs,
    downloadUrl: `https://files.example/${encodeURIComponent("ü")}`,
    callbackUrl: receiver,
    error: { code: "HTTP_503", message: oddText, metadata: {}, ...more },
  };
}

/** In the order in which they are recorded. */
async function recordMany(stores: Stores, count: number): Promise<FailedCallback[]> {
  const failures = Array.from({ length: count }, (_, index) => failureAt(stores, index));
  for (const each of failures) await stores.callbackFailures.record(each);
  return failures;
}

async function listed(stores: Stores, options: { callbackUrl?: string } = {}): Promise<FailedCallback[]> {
  return (await stores.callbackFailures.list({ tenant, limit: 100, ...options }))?.failures ?? assert.fail("no list");
}

function ids(failures: readonly FailedCallback[]): string[] {
  return failures.map(({ id }) => id);
}
