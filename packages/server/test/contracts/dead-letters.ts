import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "../../src/model/job.ts";
import { added, takeOne } from "./job-queue.ts";
import { failedReport, sampleJob } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

/** What every `DeadLetters` does. */
export function deadLettersContract({ name, make, ordered }: Platform): void {
  describe(`the dead letters of ${name}`, () => {
    test("shows a dead letter with its reason and what was achieved", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.deadLetters.list({ limit: 10 }), { entries: [], next: undefined });
      const job = sampleJob({
        report: failedReport,
        failedDownloads: 3,
        failedScans: 2,
        failedActions: 1,
        failedCallbacks: 4,
        failedRuns: 2,
        failedTrials: 3,
      });
      await buried(stores, job, "callback-failed");
      const letter = await stores.deadLetters.show(job.id);
      assert.ok(letter && letter.buriedAt > 0);
      assert.deepEqual(letter, {
        id: job.id,
        submittedAt: job.submittedAt,
        buriedAt: letter.buriedAt,
        reason: "callback-failed",
        job: {
          tenant: job.tenant,
          key: job.key,
          traceId: job.traceId,
          source: {
            kind: "url",
            url: "https://files.example/reports/q3.pdf?…",
            headerNames: ["Authorization", "X-Odd"],
          },
          callback: { url: "https://receiver.example/scans?…", headerNames: ["X-Api-Key"] },
          customDataLength: job.customData?.length,
          report: failedReport,
          failedDownloads: 3,
          failedScans: 2,
          failedActions: 1,
          failedCallbacks: 4,
          failedRuns: 2,
          failedTrials: 3,
        },
      });
      assert.deepEqual((await stores.deadLetters.list({ limit: 10 })).entries, [letter]);
    });

    test("shows no header values, queries or custom data", async () => {
      await using stores = await make();
      const { id } = await buried(stores, sampleJob({ customData: "custom-of-the-client" }));
      const seen = JSON.stringify([await stores.deadLetters.show(id), await stores.deadLetters.list({ limit: 10 })]);
      assert.doesNotMatch(seen, /of-the-source|of-the-callback|of-the-client/);
    });

    test("shows nothing for an id that is unknown or not a dead letter", async () => {
      await using stores = await make();
      const { id } = await added(stores);
      assert.equal(await stores.deadLetters.show(id), undefined);
      assert.equal(await stores.deadLetters.show("no-such-job"), undefined);
    });

    test("lists page by page, though letters vanish meanwhile", async () => {
      await using stores = await make();
      const jobs = await buryMany(stores, 7);
      const seen: string[] = [];
      let after: string | undefined;
      do {
        const page = await stores.deadLetters.list({ limit: 3, ...(after !== undefined && { after }) });
        assert.ok(page.entries.length <= 3);
        seen.push(...page.entries.map(({ id }) => id));
        await stores.deadLetters.purge(page.entries.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      assert.deepEqual(seen.toSorted(), jobs.map(({ id }) => id).toSorted());
    });

    test("a page that holds all has no next", async () => {
      await using stores = await make();
      await buryMany(stores, 3);
      const page = await stores.deadLetters.list({ limit: 3 });
      assert.equal(page.entries.length, 3);
      assert.equal(page.next, undefined);
    });

    test("redrives the chosen ones, due at once, counts at zero and report kept", async () => {
      await using stores = await make();
      const job = sampleJob({
        report: failedReport,
        failedDownloads: 3,
        failedScans: 2,
        failedActions: 1,
        failedCallbacks: 4,
        failedRuns: 2,
        failedTrials: 3,
        lostLeases: 4,
      });
      await buried(stores, job);
      const other = await buried(stores, sampleJob());
      const redrivenAt = stores.now();
      const ready = await added(stores);
      assert.equal(await stores.deadLetters.redrive([job.id, "no-such-job", ready.id]), 1);
      const leases = await stores.queue.take(10);
      const redriven = leases.find((lease) => lease.job.id === job.id);
      assert.deepEqual(redriven?.job, {
        ...job,
        failedDownloads: 0,
        failedScans: 0,
        failedActions: 0,
        failedCallbacks: 0,
        failedRuns: 0,
        failedTrials: 0,
        lostLeases: 0,
        life: { steps: [{ at: stepAt(redriven?.job, redrivenAt), what: "redriven", detail: "rest" }], leftOut: 0 },
      });
      assert.equal(leases.length, 2);
      assert.equal(await stores.deadLetters.show(job.id), undefined);
      assert.equal((await stores.deadLetters.show(other.id))?.id, other.id);
      assert.equal(await stores.deadLetters.redrive([]), 0);
    });

    test("redrives as a whole: nothing is left of what was achieved, and its life goes on", async () => {
      await using stores = await make();
      const life = { steps: [{ at: 1, what: "accepted" }], leftOut: 2 } as const;
      const asked = sampleJob();
      const job: Job = {
        ...asked,
        report: failedReport,
        action: "tag",
        told: true,
        failedCallbacks: 4,
        lostLeases: 2,
        life,
      };
      await buried(stores, job);
      const other = await buried(stores, { ...sampleJob(), report: failedReport });
      const redrivenAt = stores.now();
      assert.equal(await stores.deadLetters.redrive([job.id], "whole"), 1);
      const redriven = await takeOne(stores);
      assert.deepEqual(redriven.job, {
        ...asked,
        life: {
          steps: [...life.steps, { at: stepAt(redriven.job, redrivenAt), what: "redriven", detail: "whole" }],
          leftOut: 2,
        },
      });
      assert.equal(redriven.attempt, 1);
      assert.deepEqual((await stores.deadLetters.show(other.id))?.job?.report, failedReport);
      assert.equal(await stores.deadLetters.redrive("all", "whole"), 1);
      assert.equal((await takeOne(stores)).job.report, undefined);
    });

    test("redrives all, from another process while this one runs", async () => {
      await using stores = await make();
      const jobs = await buryMany(stores, 5);
      await using other = await stores.another();
      assert.equal(await other.deadLetters.redrive("all"), 5);
      assert.equal(await other.deadLetters.redrive("all"), 0);
      const ids = (await stores.queue.take(10)).map(({ job }) => job.id);
      assert.deepEqual(ids.toSorted(), jobs.map(({ id }) => id).toSorted());
    });

    test("a job that is redriven and buried again tells the new reason", async () => {
      await using stores = await make();
      const { id } = await buried(stores, sampleJob(), "first");
      await stores.deadLetters.redrive([id]);
      const lease = await takeOne(stores);
      await lease.settle({ kind: "buried", reason: "second", job: lease.job });
      assert.equal((await stores.deadLetters.show(id))?.reason, "second");
    });

    test("purges the chosen ones, or all, and nothing but dead letters", async () => {
      await using stores = await make();
      const [first] = await buryMany(stores, 4);
      const ready = await added(stores);
      assert.equal(await stores.deadLetters.purge([first?.id ?? "", ready.id, "no-such-job"]), 1);
      assert.equal((await stores.queue.counts()).buried, 3);
      assert.equal(await stores.deadLetters.purge("all"), 3);
      assert.equal(await stores.deadLetters.purge("all"), 0);
      assert.equal((await takeOne(stores)).job.id, ready.id);
    });

    if (!ordered) return;

    test("lists the newest first", async () => {
      await using stores = await make();
      const jobs: Job[] = [];
      for (let count = 0; count < 4; count += 1) {
        jobs.push(await buried(stores, sampleJob()));
        if (count % 2) await stores.advance(1);
      }
      const { entries } = await stores.deadLetters.list({ limit: 10 });
      assert.deepEqual(
        entries.map(({ id }) => id),
        jobs.map(({ id }) => id).toReversed(),
      );
    });
  });
}

/** When the newest step of its life was; not before it can have been. */
function stepAt(job: Job | undefined, earliest: number): number {
  const at = job?.life?.steps.at(-1)?.at ?? assert.fail("it has no life");
  assert.ok(at >= earliest, `${at} is before ${earliest}`);
  return at;
}

async function buried(stores: Stores, job: Job, reason = "test"): Promise<Job> {
  await stores.queue.add(job);
  const lease = await takeOne(stores);
  await lease.settle({ kind: "buried", reason, job });
  return job;
}

async function buryMany(stores: Stores, count: number): Promise<Job[]> {
  const jobs = Array.from({ length: count }, () => sampleJob());
  await Promise.all(jobs.map((job) => stores.queue.add(job)));
  const leases = await stores.queue.take(count);
  await Promise.all(leases.map((lease) => lease.settle({ kind: "buried", reason: "test", job: lease.job })));
  return jobs;
}
