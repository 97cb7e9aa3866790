import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { added, takeOne } from "./job-queue.ts";
import type { Platform, Stores } from "./stores.ts";

const YEAR = 365 * 86_400;

/** What every `JobQueue` does about waiting, and about clocks that are wrong. */
export function jobQueueTimeContract({ name, make, toldClock }: Platform): void {
  describe(`time in the job queue of ${name}`, () => {
    test("waiting ends at once when a job is due", async () => {
      await using stores = await make();
      await added(stores);
      await stores.queue.wait(new AbortController().signal);
    });

    test("waiting ends after a while when there is no job", async () => {
      await using stores = await make();
      await stores.queue.wait(new AbortController().signal);
    });

    // A wait that nothing ends takes about a second: a hundred of them would overrun the limit.
    test("waiting ends early when this process adds, puts back or redrives a job", { timeout: 90_000 }, async () => {
      await using stores = await make();
      for (let round = 0; round < 34; round += 1) {
        await wokenBy(stores, () => added(stores));
        const lease = await takeOne(stores);
        await wokenBy(stores, () => lease.settle({ kind: "again", afterSeconds: 0, job: lease.job }));
        const again = await takeOne(stores);
        await again.settle({ kind: "buried", reason: "test", job: again.job });
        await wokenBy(stores, () => stores.deadLetters.redrive("all"));
        await (await takeOne(stores)).settle({ kind: "done" });
      }
    });

    test("waiting ends at once when it is given up, before or meanwhile", { timeout: 30_000 }, async () => {
      await using stores = await make();
      for (let round = 0; round < 50; round += 1) {
        const giveUp = new AbortController();
        const waiting = stores.queue.wait(giveUp.signal);
        giveUp.abort();
        await waiting;
        await stores.queue.wait(giveUp.signal);
      }
    });

    if (!toldClock) return;

    test("a job that was added before the clock was set back is due", async () => {
      await using stores = await make();
      const job = await added(stores);
      await stores.advance(-YEAR);
      assert.deepEqual((await takeOne(stores)).job, job);
    });

    test("a job that was put back waits at most its delay again after the clock was set back", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      await lease.settle({ kind: "again", afterSeconds: 15, job: lease.job });
      await stores.advance(-YEAR);
      assert.deepEqual(await stores.queue.take(10), []);
      await stores.advance(15);
      await takeOne(stores);
    });

    test("a lease holds when the clock is set back, and runs out after one lease time", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      await stores.advance(-YEAR);
      assert.deepEqual(await stores.queue.take(10), []);
      assert.equal(await lease.extend(), true);
      await stores.advance(stores.leaseSeconds);
      assert.equal((await takeOne(stores)).attempt, 2);
    });

    test("a process that starts after the clock was set back finds all jobs", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      await lease.settle({ kind: "again", afterSeconds: 5, job: lease.job });
      await added(stores);
      await stores.queue.take(1);
      await added(stores);
      await stores.advance(-YEAR);
      await using other = await stores.another();
      assert.equal((await other.queue.take(10)).length, 1);
      await other.advance(5);
      assert.equal((await other.queue.take(10)).length, 1);
      await other.advance(stores.leaseSeconds - 5);
      assert.equal((await other.queue.take(10)).length, 2, "those leased to the other and to nobody any more");
    });

    test("a clock that was wrong for a moment only delays nothing for long", async () => {
      await using stores = await make();
      await stores.queue.take(1);
      await stores.advance(YEAR);
      await added(stores);
      await stores.advance(-YEAR);
      await takeOne(stores);
    });

    test("a clock that is set forward ends leases and delays early, and loses nothing", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      await stores.advance(YEAR);
      const again = await takeOne(stores);
      assert.equal(await lease.settle({ kind: "done" }), false);
      assert.equal(await again.settle({ kind: "again", afterSeconds: 15, job: again.job }), true);
      await stores.advance(YEAR);
      await takeOne(stores);
    });
  });
}

/** Resolves when somebody who was waiting before the work began has been woken. */
async function wokenBy(stores: Stores, work: () => Promise<unknown>): Promise<void> {
  const waiting = stores.queue.wait(new AbortController().signal);
  // By then it has looked for jobs, and found none.
  await stores.queue.counts();
  await work();
  await waiting;
}
