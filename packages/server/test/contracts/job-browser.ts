import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { done } from "../../src/model/settlement.ts";
import type { JobState } from "../../src/queue/job-queue.ts";
import { added } from "./job-queue.ts";
import type { Platform, Stores } from "./stores.ts";

/** What every `JobBrowser` does. */
export function jobBrowserContract({ name, make }: Platform): void {
  describe(`the job browser of ${name}`, () => {
    test("lists all jobs that are not done, newest first, each with its state", async () => {
      await using stores = await make();
      const ids = await oneOfEach(stores);
      const { entries, next } = await stores.browser.list({ limit: 10 });
      assert.deepEqual(
        entries.map(({ id, state, attempts }) => ({ id, state, attempts })),
        [
          { id: ids.ready, state: "ready", attempts: 0 },
          { id: ids.leased, state: "leased", attempts: 1 },
          { id: ids.buried, state: "buried", attempts: 1 },
          { id: ids.delayed, state: "delayed", attempts: 0 },
        ],
      );
      assert.equal(next, undefined);
    });

    test("lists the jobs of one state", async () => {
      await using stores = await make();
      const ids = await oneOfEach(stores);
      for (const state of ["ready", "delayed", "leased", "buried"] as const) {
        const { entries } = await stores.browser.list({ limit: 10, state });
        assert.deepEqual(
          entries.map(({ id }) => id),
          [ids[state]],
        );
      }
    });

    test("lists page by page, though jobs come and go meanwhile", async () => {
      await using stores = await make();
      const ids: string[] = [];
      for (let count = 0; count < 5; count += 1) ids.unshift((await added(stores)).id);
      const first = await stores.browser.list({ limit: 2 });
      await added(stores);
      for (const lease of await stores.queue.take(2)) await lease.settle(done);
      const second = await stores.browser.list({ limit: 2, after: first.next ?? "" });
      assert.deepEqual(
        [...first.entries, ...second.entries].map(({ id }) => id),
        ids.slice(0, 3),
      );
      assert.equal(second.next, undefined);
    });

    test("shows one job: attempts, when it is due, and nothing secret", async () => {
      await using stores = await make();
      const { id, submittedAt, traceId } = await added(stores, { customData: "custom-of-the-client" });
      const ready = await stores.browser.show(id);
      assert.deepEqual([ready?.id, ready?.submittedAt, ready?.job?.traceId], [id, submittedAt, traceId]);
      await stores.queue.take(1);
      const leased = await stores.browser.show(id);
      assert.deepEqual([leased?.state, leased?.attempts], ["leased", 1]);
      assert.ok((leased?.dueAt ?? 0) > (ready?.dueAt ?? 0));
      const names = ["Authorization", "X-Odd"];
      assert.deepEqual(leased?.job?.source, {
        kind: "url",
        url: "https://files.example/reports/q3.pdf?…",
        headerNames: names,
      });
      const seen = JSON.stringify([leased, await stores.browser.list({ limit: 10 })]);
      assert.doesNotMatch(seen, /of-the-source|of-the-callback|of-the-client/);
    });

    test("shows what happened to a job so far, whatever its state", async () => {
      await using stores = await make();
      const life = { steps: [{ at: 1, what: "accepted" }], leftOut: 2 } as const;
      const { id } = await added(stores, { life });
      const lifeSeen = async (): Promise<unknown[]> => {
        const { entries } = await stores.browser.list({ limit: 10 });
        return [(await stores.browser.show(id))?.life, ...entries.map((entry) => entry.life)];
      };
      assert.deepEqual(await lifeSeen(), [life, life]);
      const [lease] = await stores.queue.take(1);
      const more = { steps: [...life.steps, { at: 2, what: "taken", ms: 1 } as const], leftOut: 2 };
      await lease?.save({ ...lease.job, life: more });
      assert.deepEqual(await lifeSeen(), [more, more]);
      const last = { ...more, leftOut: 3 };
      await lease?.settle({ kind: "buried", reason: "test", job: { ...lease.job, life: last } });
      assert.deepEqual(await lifeSeen(), [last, last]);
    });

    test("shows nothing for an id that is unknown or done", async () => {
      await using stores = await make();
      const { id } = await added(stores);
      const [lease] = await stores.queue.take(1);
      await lease?.settle(done);
      assert.equal(await stores.browser.show(id), undefined);
      assert.equal(await stores.browser.show("no-such-job"), undefined);
    });

    test("a job whose lease ran out is ready", async () => {
      await using stores = await make();
      const { id } = await added(stores);
      await stores.queue.take(1);
      await stores.advance(stores.leaseSeconds + 1);
      assert.equal((await stores.browser.show(id))?.state, "ready");
    });
  });
}

/** Added in the order delayed, buried, leased, ready; and one that is done. */
async function oneOfEach(stores: Stores): Promise<Record<JobState, string>> {
  const delayed = await added(stores);
  const [first] = await stores.queue.take(1);
  await first?.settle({ kind: "again", afterSeconds: 60, job: first.job });
  const buried = await added(stores);
  const [second] = await stores.queue.take(1);
  await second?.settle({ kind: "buried", reason: "test", job: second.job });
  await added(stores);
  const [third] = await stores.queue.take(1);
  await third?.settle(done);
  const leased = await added(stores);
  await stores.queue.take(1);
  const ready = await added(stores);
  return { delayed: delayed.id, buried: buried.id, leased: leased.id, ready: ready.id };
}
