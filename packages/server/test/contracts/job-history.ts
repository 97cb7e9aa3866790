import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../src/model/job.ts";
import { jobCard } from "../../src/model/job-card.ts";
import type { Life } from "../../src/model/life.ts";
import { done } from "../../src/model/settlement.ts";
import type { FinishedJob, HistoryQuery } from "../../src/queue/job-history.ts";
import { newJobId } from "../../src/queue/job-queue.ts";
import { takeOne } from "./job-queue.ts";
import { cleanReport, failedReport, oddText, sampleJob, traced } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const HOUR = 3600;
const infected = { ...cleanReport, verdict: { kind: "infected", finding: "Eicar-Test" } } as const;

/** What every `JobHistory` does, and every `JobQueue` for it. */
export function jobHistoryContract({ name, make, toldClock, keepsMost = true }: Platform): void {
  describe(`the job history of ${name}`, () => {
    test("a job that was settled as done is there: as people may see it, with its life, also for another process", async () => {
      await using stores = await make();
      const life: Life = { steps: [{ at: stores.now(), what: "accepted" }], leftOut: 3 };
      const job = { ...jobAt(stores, 0, { report: infected, action: "tag", failedCallbacks: 2 }), life };
      await stores.queue.add(job);
      const lease = await takeOne(stores);
      const ended = { ...lease.job, life: { ...life, leftOut: 4 } };
      assert.equal(await lease.settle({ kind: "done", job: ended }), true);
      await using other = await stores.another();
      for (const { history } of [stores, other]) {
        const shown = (await history.show(job.id)) ?? assert.fail("it is not there");
        assert.ok(shown.finishedAt >= job.submittedAt, `finished at ${shown.finishedAt}`);
        const { finishedAt } = shown;
        const { id, submittedAt } = job;
        assert.deepEqual(shown, { id, submittedAt, finishedAt, attempts: 1, job: jobCard(ended), life: ended.life });
        assert.deepEqual(await history.list({ limit: 5 }), { entries: [shown], next: undefined });
        assert.equal(await history.count(), 1);
      }
    });

    test("tells how often it was taken, and has an empty life for a job without one", async () => {
      await using stores = await make();
      const job = jobAt(stores, 0);
      await stores.queue.add(job);
      await takeOne(stores);
      await stores.advance(stores.leaseSeconds + 1);
      const lease = await takeOne(stores);
      await lease.settle({ kind: "done", job: lease.job });
      const shown = await stores.history.show(job.id);
      assert.deepEqual([shown?.attempts, shown?.life], [2, { steps: [], leftOut: 0 }]);
    });

    test("nothing is there of a job that waits, was put back or buried, or was settled without being told of", async () => {
      await using stores = await make();
      for (const kind of ["again", "buried", "done", "lost"] as const) {
        await stores.queue.add(jobAt(stores, 0));
        const lease = await takeOne(stores);
        if (kind === "again") await lease.settle({ kind, afterSeconds: 3600, job: lease.job });
        if (kind === "buried") await lease.settle({ kind, reason: "test", job: lease.job });
        if (kind === "done") await lease.settle(done);
      }
      await stores.queue.add(jobAt(stores, 0));
      assert.deepEqual(await stores.history.list({ limit: 5 }), { entries: [], next: undefined });
      assert.equal(await stores.history.show("no-such-job"), undefined);
      assert.equal(await stores.history.count(), 0);
    });

    test("a lease that was lost writes nothing", async () => {
      await using stores = await make();
      const job = jobAt(stores, 0);
      await stores.queue.add(job);
      const lost = await takeOne(stores);
      await stores.advance(stores.leaseSeconds + 1);
      const newest = await takeOne(stores);
      assert.equal(await lost.settle({ kind: "done", job: { ...job, report: cleanReport } }), false);
      assert.equal(await stores.history.show(job.id), undefined);
      await newest.settle({ kind: "done", job: { ...job, report: infected } });
      assert.equal((await stores.history.show(job.id))?.job.report?.verdict.kind, "infected");
    });

    test("lists page by page, newest first, though others are done meanwhile", async () => {
      await using stores = await make();
      const jobs = await finished(stores, manyJobs(stores, 7));
      const seen: FinishedJob[] = [];
      let after: string | undefined;
      do {
        const page = await stores.history.list({ limit: 3, ...(after !== undefined && { after }) });
        assert.ok(page && page.entries.length <= 3);
        seen.push(...page.entries);
        after = page.next;
        await finished(stores, [jobAt(stores, 1000 + seen.length)]);
      } while (after !== undefined && seen.length < 100);
      assert.deepEqual(idsOf(seen), idsOf(jobs).toReversed());
    });

    test("a page that holds all has no next", async () => {
      await using stores = await make();
      await finished(stores, manyJobs(stores, 3));
      const page = await stores.history.list({ limit: 3 });
      assert.deepEqual([page?.entries.length, page?.next], [3, undefined]);
    });

    test("lists those that are wanted", async () => {
      await using stores = await make();
      const object = { kind: "object", bucket: "Invoices", key: "2026/Ärger.pdf" } as const;
      const jobs = await finished(stores, [
        jobAt(stores, 0, { traceId: "first-Trace", report: cleanReport }),
        jobAt(stores, 1000, { source: object, report: failedReport, tenant: "shop" }),
        jobAt(stores, 2000, { report: infected }),
        jobAt(stores, 3000),
      ]);
      const start = jobs[0]?.submittedAt ?? 0;
      const wanted: [Partial<HistoryQuery>, number[]][] = [
        [{}, [3, 2, 1, 0]],
        [{ verdict: "clean" }, [0]],
        [{ verdict: "infected" }, [2]],
        [{ verdict: "no" }, [1]],
        [{ tenant: "shop" }, [1]],
        [{ tenant: "nobody" }, []],
        [{ since: start + 1000 }, [3, 2, 1]],
        [{ until: start + 2000 }, [1, 0]],
        [{ since: start + 1000, until: start + 2001 }, [2, 1]],
        [{ text: "FIRST-trace" }, [0]],
        [{ text: "invoices/2026/ärger" }, [1]],
        [{ text: "files.EXAMPLE/reports" }, [3, 2, 0]],
        [{ text: "of-the-source" }, []],
        [{ text: "files.example", verdict: "infected", tenant: "default" }, [2]],
      ];
      for (const [query, places] of wanted) {
        const ids = places.map((place) => jobs[place]?.id);
        assert.deepEqual(idsOf(await listed(stores, query)), ids, JSON.stringify(query));
      }
    });

    test("a filter goes on over the pages", async () => {
      await using stores = await make();
      const reports = [infected, cleanReport];
      const jobs = await finished(
        stores,
        manyJobs(stores, 8).map((job, at) => ({ ...job, report: reports[at % 2] ?? infected })),
      );
      const clean = jobs.filter(({ report }) => report === cleanReport).toReversed();
      const first = await stores.history.list({ limit: 2, verdict: "clean" });
      assert.deepEqual(idsOf(first?.entries ?? []), idsOf(clean.slice(0, 2)));
      const second = await stores.history.list({ limit: 2, verdict: "clean", after: first?.next ?? "" });
      assert.deepEqual(idsOf(second?.entries ?? []), idsOf(clean.slice(2)));
    });

    test("opens a bounded number for one page, and says where to go on", async () => {
      await using stores = await make({ mostRead: 3 });
      const jobs = await finished(
        stores,
        manyJobs(stores, 7).map((job, at) => ({ ...job, report: at === 0 ? infected : cleanReport })),
      );
      const sizes: number[] = [];
      let after: string | undefined;
      do {
        const more = after === undefined ? {} : { after };
        const page = await stores.history.list({ limit: 2, verdict: "infected", ...more });
        sizes.push(page?.entries.length ?? -1);
        after = page?.next;
        if (after === undefined) assert.deepEqual(idsOf(page?.entries ?? []), idsOf(jobs.slice(0, 1)));
      } while (after !== undefined && sizes.length < 20);
      assert.deepEqual(sizes, [0, 0, 1]);
    });

    test("a place that is none of ours lists nothing", async () => {
      await using stores = await make();
      await finished(stores, [jobAt(stores, 0)]);
      for (const after of ["", "x", "-1", "9".repeat(40), "1#", oddText])
        assert.equal(await stores.history.list({ limit: 5, after }), undefined, JSON.stringify(after));
    });

    test("finds the jobs of a trace id, newest first, and not those of another tenant", async () => {
      await using stores = await make();
      const traceId = `trace ${oddText}`;
      const jobs = await finished(stores, [
        jobAt(stores, 0, { traceId }),
        jobAt(stores, 1, { traceId, tenant: "shop" }),
        jobAt(stores, 2, { traceId: "another" }),
        jobAt(stores, 3, { traceId }),
        jobAt(stores, 4, withoutTrace()),
      ]);
      const ids = idsOf(jobs);
      assert.deepEqual(await stores.history.ofTrace(traced(traceId)), [ids[3], ids[0]]);
      assert.deepEqual(await stores.history.ofTrace({ tenant: "shop", traceId }), [ids[1]]);
      assert.deepEqual(await stores.history.ofTrace(traced("unknown")), []);
    });

    test("shows no header values, queries or custom data", async () => {
      await using stores = await make();
      const job = jobAt(stores, 0, { customData: "custom-of-the-client", report: infected });
      await finished(stores, [job]);
      const seen = JSON.stringify([await stores.history.show(job.id), await stores.history.list({ limit: 5 })]);
      assert.match(seen, /files\.example/);
      assert.doesNotMatch(seen, /of-the-source|of-the-callback|of-the-client/);
    });

    test("what was damaged is left out, and the rest is listed", async () => {
      await using stores = await make();
      const [damaged] = await finished(stores, [jobAt(stores, 0)]);
      await stores.damageKept();
      assert.deepEqual(await stores.history.list({ limit: 5 }), { entries: [], next: undefined });
      const [whole] = await finished(stores, [jobAt(stores, 5)]);
      assert.deepEqual(idsOf(await listed(stores)), [whole?.id]);
      assert.equal(await stores.history.show(damaged?.id ?? ""), undefined);
    });

    test("keeps nothing where it is told so", async () => {
      await using stores = await make({ historyMost: 0 });
      await finished(stores, manyJobs(stores, 2));
      await stores.sweep();
      assert.deepEqual(await stores.history.list({ limit: 5 }), { entries: [], next: undefined });
    });

    if (keepsMost) {
      test("keeps no more than it is told: the oldest go", async () => {
        await using stores = await make({ historyMost: 3 });
        const jobs: Job[] = [];
        for (const job of manyJobs(stores, 5)) jobs.push(...(await finished(stores, [job])));
        await stores.sweep();
        assert.deepEqual(idsOf(await listed(stores)), idsOf(jobs.slice(2)).toReversed());
        assert.equal(await stores.history.count(), 3);
      });
    }

    if (!toldClock) return;

    test("is kept from the end of the job on for as long as it is told, whether or not it is swept", async () => {
      await using stores = await make({ historyMs: HOUR * 1000 });
      const traceId = "of one";
      const old = jobAt(stores, 0, { traceId });
      await stores.queue.add(old);
      await stores.advance(2 * HOUR);
      await finishOne(stores);
      await stores.advance(HOUR - 1);
      await stores.sweep();
      assert.deepEqual(idsOf(await listed(stores)), [old.id]);
      await stores.advance(1);
      for (const sweep of [async () => {}, stores.sweep]) {
        await sweep();
        assert.deepEqual(await listed(stores), []);
        assert.equal(await stores.history.show(old.id), undefined);
        assert.deepEqual(await stores.history.ofTrace(traced(traceId)), []);
        assert.equal(await stores.history.count(), 0);
      }
    });
  });
}

/** Submitted so many milliseconds from now, with an id of that time. */
function jobAt(stores: Stores, afterMs: number, parts: Partial<Job> = {}): Job {
  const submittedAt = stores.now() + afterMs;
  return sampleJob({ id: newJobId(submittedAt), submittedAt, ...parts });
}

function manyJobs(stores: Stores, count: number): Job[] {
  return Array.from({ length: count }, (_, at) => jobAt(stores, at));
}

function withoutTrace(): Partial<Job> {
  return { traceId: undefined } as unknown as Partial<Job>;
}

/** Adds, takes and settles all of them, at once. */
async function finished(stores: Stores, jobs: readonly Job[]): Promise<readonly Job[]> {
  await Promise.all(jobs.map((job) => stores.queue.add(job)));
  for (let left = jobs.length; left > 0; ) {
    const leases = await stores.queue.take(left);
    assert.ok(leases.length > 0, "nothing was taken");
    await Promise.all(leases.map((lease) => lease.settle({ kind: "done", job: lease.job })));
    left -= leases.length;
  }
  return jobs;
}

async function finishOne(stores: Stores): Promise<void> {
  const lease = await takeOne(stores);
  await lease.settle({ kind: "done", job: lease.job });
}

async function listed(stores: Stores, query: Partial<HistoryQuery> = {}): Promise<FinishedJob[]> {
  return (await stores.history.list({ limit: 10, ...query }))?.entries ?? assert.fail("it is no place of ours");
}

function idsOf(all: readonly { id: string }[]): string[] {
  return all.map(({ id }) => id);
}
