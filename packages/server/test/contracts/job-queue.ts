import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import type { Job } from "../../src/model/job.ts";
import { done } from "../../src/model/settlement.ts";
import { type Lease, MAX_ATTEMPTS, POISON } from "../../src/queue/job-queue.ts";
import { cleanReport, sampleJob } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

/** What every `JobQueue` does. */
export function jobQueueContract({ name, make, ordered }: Platform): void {
  describe(`the job queue of ${name}`, () => {
    test("a job that was added can be taken at once, with every character as it was", async () => {
      await using stores = await make();
      const headers = JSON.parse('{"__proto__": "a header of that name", "constructor": "another"}');
      const jobs = [
        sampleJob(),
        sampleJob({ source: { kind: "url", url: "https://files.example/", headers } }),
        withoutOptionalParts(),
      ];
      for (const job of jobs) await stores.queue.add(job);
      const leases = await stores.queue.take(10);
      assert.deepEqual(byId(leases.map(({ job }) => job)), byId(jobs));
      assert.deepEqual(
        leases.map(({ attempt }) => attempt),
        [1, 1, 1],
      );
    });

    test("a job that was added is there for a process started after a crash", async () => {
      await using stores = await make();
      const job = await added(stores);
      await using other = await stores.another();
      assert.deepEqual((await takeOne(other)).job, job);
    });

    test("a job that cannot be kept is refused with QueueUnavailable, and is not there afterwards", async () => {
      await using stores = await make();
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(added(unwritable), QueueUnavailable);
        await assert.rejects(unwritable.queue.take(1), QueueUnavailable);
      }
      assert.deepEqual(await stores.queue.take(10), []);
    });

    test("two jobs with the same trace id are two jobs", async () => {
      await using stores = await make();
      await added(stores, { traceId: "same" });
      await added(stores, { traceId: "same" });
      assert.equal((await stores.queue.take(10)).length, 2);
    });

    test("takes no more than the limit, and nothing when nothing is due", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.queue.take(10), []);
      for (let count = 0; count < 5; count += 1) await added(stores);
      assert.equal((await stores.queue.take(3)).length, 3);
      assert.equal((await stores.queue.take(3)).length, 2);
      assert.deepEqual(await stores.queue.take(3), []);
    });

    test("nobody else gets a leased job until its lease runs out", async () => {
      await using stores = await make();
      const job = await added(stores);
      await takeOne(stores);
      await using other = await stores.another();
      assert.deepEqual(await stores.queue.take(10), []);
      assert.deepEqual(await other.queue.take(10), []);
      await stores.advance(stores.leaseSeconds * 0.6);
      assert.deepEqual(await other.queue.take(10), []);
      await stores.advance(stores.leaseSeconds * 0.5);
      const again = await takeOne(other);
      assert.deepEqual(again.job, job);
      assert.equal(again.attempt, 2);
    });

    test("many who take at once never get the same job", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const jobs = await Promise.all(Array.from({ length: 60 }, () => added(stores)));
      const takers = Array.from({ length: 20 }, (_, index) => (index % 2 ? stores : other).queue.take(4));
      const taken = (await Promise.all(takers)).flat().map(({ job }) => job);
      assert.deepEqual(byId(taken), byId(jobs));
    });

    test(`a job that was taken ${MAX_ATTEMPTS} times and never settled is buried as poison; others go on`, async () => {
      await using stores = await make();
      const poison = await added(stores);
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        assert.equal((await takeOne(stores)).attempt, attempt);
        await stores.advance(stores.leaseSeconds + 1);
      }
      const other = await added(stores);
      assert.equal((await takeOne(stores)).job.id, other.id);
      const { entries } = await stores.deadLetters.list({ limit: 10 });
      assert.deepEqual(
        entries.map(({ id, reason }) => [id, reason]),
        [[poison.id, POISON]],
      );
    });

    test("a job that is put back or redriven starts to count from one", async () => {
      await using stores = await make();
      await added(stores);
      await takeOne(stores);
      await stores.advance(stores.leaseSeconds + 1);
      const second = await takeOne(stores);
      assert.equal(second.attempt, 2);
      await second.settle({ kind: "again", afterSeconds: 0, job: second.job });
      const first = await takeOne(stores);
      assert.equal(first.attempt, 1);
      await first.settle({ kind: "buried", reason: "test", job: first.job });
      await stores.deadLetters.redrive("all");
      assert.equal((await takeOne(stores)).attempt, 1);
    });

    test("extending keeps a lease for another full time, as often as it is done", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      for (let count = 0; count < 4; count += 1) {
        await stores.advance(stores.leaseSeconds * 0.7);
        assert.equal(await lease.extend(), true);
        assert.deepEqual(await stores.queue.take(10), []);
      }
      await stores.advance(stores.leaseSeconds * 1.1);
      assert.equal((await takeOne(stores)).attempt, 2);
    });

    test("progress that was saved is there for whoever takes the job next, also after a crash", async () => {
      await using stores = await make();
      const job = await added(stores);
      const progress = {
        ...job,
        report: cleanReport,
        failedDownloads: 2,
        failedScans: 3,
        failedActions: 2,
        failedCallbacks: 1,
        failedRuns: 4,
        failedTrials: 2,
        lostLeases: 1,
        suspect: true as const,
      };
      assert.equal(await (await takeOne(stores)).save(progress), true);
      await using other = await stores.another();
      assert.deepEqual(await other.queue.take(10), [], "it is still leased");
      await other.advance(stores.leaseSeconds + 1);
      assert.deepEqual((await takeOne(other)).job, progress);
    });

    test("a lease that was lost can write nothing", async () => {
      await using stores = await make();
      const job = await added(stores);
      const lost = await takeOne(stores);
      await stores.advance(stores.leaseSeconds + 1);
      const lease = await takeOne(stores);
      const changed = { ...job, report: cleanReport };
      assert.equal(await lost.extend(), false);
      assert.equal(await lost.save(changed), false);
      assert.equal(await lost.settle(done), false);
      assert.equal(await lost.settle({ kind: "again", afterSeconds: 0, job: changed }), false);
      assert.equal(await lost.settle({ kind: "buried", reason: "test", job: changed }), false);
      assert.deepEqual(await counted(stores), { ready: 0, delayed: 0, leased: 1, buried: 0 });
      assert.equal(await lease.settle({ kind: "again", afterSeconds: 0, job }), true);
      assert.deepEqual((await takeOne(stores)).job, job);
    });

    test("a lease that ran out still counts as long as nobody took the job", async () => {
      await using stores = await make();
      const job = await added(stores);
      const late = await takeOne(stores);
      await stores.advance(stores.leaseSeconds + 1);
      assert.equal(await late.save({ ...job, report: cleanReport }), true);
      assert.equal(await late.extend(), true);
      assert.deepEqual(await stores.queue.take(10), []);
      assert.equal(await late.settle(done), true);
    });

    test("a job that is done is gone, and its lease with it", async () => {
      await using stores = await make();
      await added(stores);
      const lease = await takeOne(stores);
      assert.equal(await lease.settle(done), true);
      assert.equal(await lease.settle(done), false);
      assert.equal(await lease.extend(), false);
      await using other = await stores.another();
      await other.advance(stores.leaseSeconds + 1);
      assert.deepEqual(await other.queue.take(10), []);
      assert.deepEqual(await counted(other), { ready: 0, delayed: 0, leased: 0, buried: 0 });
    });

    test("a job that is put back comes again after its delay, as it was handed back", async () => {
      await using stores = await make();
      const job = await added(stores);
      const later = { ...job, report: cleanReport, failedCallbacks: 1 };
      const lease = await takeOne(stores);
      assert.equal(await lease.settle({ kind: "again", afterSeconds: 4.07, job: later }), true);
      assert.equal(await lease.extend(), false);
      await using other = await stores.another();
      await other.advance(4);
      assert.deepEqual(await other.queue.take(10), []);
      await other.advance(2);
      assert.deepEqual((await takeOne(other)).job, later);
    });

    test("a job that is buried is not taken again, also after a crash", async () => {
      await using stores = await make();
      const job = await added(stores);
      const lease = await takeOne(stores);
      assert.equal(await lease.settle({ kind: "buried", reason: "test", job }), true);
      assert.equal(await lease.settle(done), false);
      await using other = await stores.another();
      await other.advance(stores.leaseSeconds + 1);
      assert.deepEqual(await other.queue.take(10), []);
      assert.equal((await other.queue.counts()).buried, 1);
    });

    test("counts jobs by state, and tells how long the oldest has been due", async () => {
      await using stores = await make();
      assert.deepEqual(await counted(stores), { ready: 0, delayed: 0, leased: 0, buried: 0 });
      assert.equal((await stores.queue.counts()).oldestSeconds, 0);
      for (let count = 0; count < 6; count += 1) await added(stores);
      const [first, second, third] = await stores.queue.take(4);
      await first?.settle({ kind: "again", afterSeconds: 600, job: first.job });
      await second?.settle({ kind: "buried", reason: "test", job: second.job });
      await third?.settle(done);
      assert.deepEqual(await counted(stores), { ready: 2, delayed: 1, leased: 1, buried: 1 });
      await stores.advance(2);
      assert.ok((await stores.queue.counts()).oldestSeconds >= 2);
      await stores.advance(stores.leaseSeconds);
      assert.deepEqual(await counted(stores), { ready: 3, delayed: 1, leased: 0, buried: 1 });
    });

    test("counts the jobs of a share that are not done, up to a limit: leased, put back and redriven ones as well, dead letters not", async () => {
      await using stores = await make();
      const unfinished = (share: string, upTo = 100): Promise<number | undefined> =>
        stores.queue.unfinished(share, upTo);
      assert.equal(await unfinished("shop"), 0);
      for (let count = 0; count < 4; count += 1) await added(stores, { tenant: "shop", counted: true });
      await added(stores, { tenant: "shop-2", counted: true });
      assert.deepEqual([await unfinished("shop"), await unfinished("shop-2"), await unfinished("sho")], [4, 1, 0]);
      assert.deepEqual([await unfinished("shop", 3), await unfinished("shop", 0)], [3, 0]);
      const leases = (await stores.queue.take(9)).filter(({ job }) => job.tenant === "shop");
      assert.equal(await unfinished("shop"), 4);
      const [done, again, buried, other] = leases as [Lease, Lease, Lease, Lease];
      await done.settle({ kind: "done" });
      await again.settle({ kind: "again", afterSeconds: 60, job: again.job });
      await buried.settle({ kind: "buried", reason: "enough", job: buried.job });
      assert.equal(await unfinished("shop"), 2);
      await other.settle({ kind: "buried", reason: "enough", job: other.job });
      assert.equal(await unfinished("shop"), 1);
      assert.equal(await stores.deadLetters.redrive([other.job.id]), 1);
      assert.equal(await unfinished("shop"), 2);
      assert.equal(await stores.deadLetters.purge([buried.job.id]), 1);
      assert.equal(await unfinished("shop"), 2);
    });

    if (!ordered) return;

    test("takes from the shares in turn, whoever has more jobs waiting, and inside a share by age", async () => {
      await using stores = await make();
      const [many, few] = ["aa".repeat(32), "bb".repeat(32)];
      const flood = await Promise.all(Array.from({ length: 8 }, () => added(stores, { tenant: many })));
      await stores.advance(5);
      const single = [await added(stores, { tenant: few }), await added(stores, { tenant: few })];
      const first = await stores.queue.take(4);
      assert.deepEqual(byId(first.map(({ job }) => job)), byId([...flood.slice(0, 2), ...single]));
      assert.equal((await stores.queue.take(10)).length, 6, "who is alone gets all");
    });

    test("takes first for the share that holds least, and passes over one that holds all it may", async () => {
      await using stores = await make();
      const [many, few] = ["aa".repeat(32), "bb".repeat(32)];
      for (let count = 0; count < 6; count += 1) await added(stores, { tenant: many });
      await stores.advance(5);
      for (let count = 0; count < 3; count += 1) await added(stores, { tenant: few });
      const counted = async (limit: number, held: [string, number][]): Promise<string[]> => {
        const leases = await stores.queue.take(limit, { held: new Map(held), perShare: 3 });
        return leases.map(({ job }) => job.tenant.slice(0, 2));
      };
      assert.deepEqual(await counted(2, [[many, 2]]), ["bb", "bb"]);
      assert.deepEqual(await counted(9, [[many, 3]]), ["bb"], "the other is full");
      assert.deepEqual(await counted(9, [[many, 1]]), ["aa", "aa"], "and no more than it may hold");
      assert.deepEqual(await counted(9, [[many, 3]]), []);
      assert.deepEqual(await counted(9, []), ["aa", "aa", "aa"]);
    });

    test("takes first for the share that holds least for its weight", async () => {
      await using stores = await make();
      for (let count = 0; count < 9; count += 1) {
        for (const tenant of ["heavy", "light"]) await added(stores, { tenant });
      }
      const weights = new Map([["heavy", 2]]);
      const six = await stores.queue.take(6, { held: new Map(), perShare: 9, weights });
      assert.deepEqual(tenantsOf(six), { heavy: 4, light: 2 });
      const more = await stores.queue.take(2, { held: new Map([["heavy", 4]]), perShare: 9, weights });
      assert.deepEqual(tenantsOf(more), { light: 2 }, "what it holds counts, too");
    });

    test("takes in turn from more shares than there are places, however old the jobs of some are", async () => {
      await using stores = await make();
      for (const tenant of ["one", "two", "three"]) {
        for (let count = 0; count < 4; count += 1) await added(stores, { tenant });
      }
      const takeNext = async (): Promise<string | undefined> => {
        const [lease] = await stores.queue.take(1, { held: new Map(), perShare: 1, weights: new Map([["one", 2]]) });
        await lease?.settle(done);
        return lease?.job.tenant;
      };
      await takeNext();
      await stores.advance(5);
      await added(stores, { tenant: "new" });
      const next = [await takeNext(), await takeNext(), await takeNext()];
      assert.ok(next.includes("new"), `it was the turn of ${next}`);
      const rest = [...next, await takeNext(), await takeNext(), await takeNext()];
      assert.ok(rest.filter((tenant) => tenant === "one").length >= 2, `a heavy one has more turns: ${rest}`);
    });

    test("does not wait for jobs of a share that is full, and for others only until they are due", async () => {
      await using stores = await make();
      const full = { held: new Map([["aa".repeat(32), 3]]), perShare: 3 };
      await added(stores, { tenant: "aa".repeat(32) });
      let woken = false;
      const waiting = stores.queue.wait(new AbortController().signal, full).then(() => {
        woken = true;
      });
      // What is asked later is answered later: by now the wait has heard that nothing is due for it.
      await stores.queue.counts();
      assert.equal(woken, false);
      await added(stores, { tenant: "bb".repeat(32) });
      await waiting;
      await stores.queue.wait(new AbortController().signal, full);
      assert.equal((await stores.queue.take(9, full)).length, 1);
    });

    test("takes the jobs that have been due longest first", async () => {
      await using stores = await make();
      const jobs: Job[] = [];
      for (let count = 0; count < 5; count += 1) {
        jobs.push(await added(stores));
        if (count % 2 === 0) await stores.advance(1);
      }
      const [first] = await stores.queue.take(1);
      await first?.settle({ kind: "again", afterSeconds: 0, job: first.job });
      const ids = (await stores.queue.take(10)).map(({ job }) => job.id);
      assert.deepEqual(
        ids,
        [...jobs.slice(1), ...jobs.slice(0, 1)].map(({ id }) => id),
      );
    });
  });
}

export async function added(stores: Stores, parts: Partial<Job> = {}): Promise<Job> {
  const job = sampleJob(parts);
  await stores.queue.add(job);
  return job;
}

export async function takeOne(stores: Stores): Promise<Lease> {
  const leases = await stores.queue.take(10);
  assert.equal(leases.length, 1);
  return leases[0] as Lease;
}

async function counted(stores: Stores): Promise<{ ready: number; delayed: number; leased: number; buried: number }> {
  const { oldestSeconds: _, ...counts } = await stores.queue.counts();
  return counts;
}

function tenantsOf(leases: readonly Lease[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { job } of leases) counts[job.tenant] = (counts[job.tenant] ?? 0) + 1;
  return counts;
}

function byId(jobs: readonly Job[]): Job[] {
  return jobs.toSorted((a, b) => a.id.localeCompare(b.id));
}

function withoutOptionalParts(): Job {
  const { traceId: _, customData: __, callback: ___, ...job } = sampleJob();
  return job;
}
