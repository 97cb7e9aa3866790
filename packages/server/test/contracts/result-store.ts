import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TracedJob } from "../../src/deliver/result-store.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { cleanReport, failedReport, oddText, sampleJob, traced } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const HOUR = 3600;

/** What every `ResultStore` does. */
export function resultStoreContract({ name, make, toldClock }: Platform): void {
  describe(`the results of ${name}`, () => {
    test("there is no result for an unknown trace id, or while the scan is unfinished", async () => {
      await using stores = await make();
      assert.equal(await stores.results.find(traced("unknown")), undefined);
      await submitted(stores, submission("a"));
      assert.equal(await stores.results.find(traced("a")), undefined);
    });

    test("a result that was kept is found, also after a crash", async () => {
      await using stores = await make();
      for (const [traceId, report] of Object.entries({ clean: cleanReport, failed: failedReport })) {
        const kept = submission(traceId);
        await submitted(stores, kept);
        await stores.results.keep(kept, report);
      }
      await using other = await stores.another();
      for (const each of [stores, other]) {
        assert.deepEqual(await each.results.find(traced("clean")), cleanReport);
        assert.deepEqual(await each.results.find(traced("failed")), failedReport);
      }
    });

    test("trace ids that differ in one odd character are different", async () => {
      await using stores = await make();
      const ids = ["", " ", "a", "A", "a\0", "a\0b", "\ud83d", "\ud83e", "\udc7e", "\ufffd", "é", "e\u0301", oddText];
      for (const [index, traceId] of ids.entries()) await finished(stores, traceId, index);
      for (const [index, traceId] of ids.entries()) {
        assert.equal((await stores.results.find(traced(traceId)))?.sizeBytes, index, JSON.stringify(traceId));
      }
    });

    test("a trace id of one tenant is not that of another, whatever its name is made of", async () => {
      await using stores = await make();
      const traces = [
        traced("a"),
        { tenant: "shop", traceId: "a" },
        { tenant: "shop-a", traceId: "" },
        { tenant: "shop", traceId: "-a" },
        { tenant: "a", traceId: "a" },
        ...["shop#a", "shop a", "shop\0a", "of shop a", "digest of shop\0a"].map(traced),
      ];
      for (const [index, trace] of traces.entries()) {
        assert.equal(await stores.results.find(trace), undefined);
        const kept = { ...submission(trace.traceId), ...trace };
        await submitted(stores, kept);
        await stores.results.keep(kept, { ...cleanReport, sizeBytes: index });
      }
      const reports = await Promise.all(traces.map((trace) => stores.results.find(trace)));
      assert.deepEqual(
        reports.map((report) => report?.sizeBytes),
        traces.map((_, index) => index),
      );
      assert.equal(await stores.results.find({ tenant: "other", traceId: "a" }), undefined);
    });

    test("a job of one tenant does not end what another waits for, even with its id", async () => {
      await using stores = await make();
      const waiting = { ...submission("a"), tenant: "shop" };
      await submitted(stores, waiting);
      await stores.results.keep({ ...waiting, tenant: "other" }, cleanReport);
      await stores.results.keep({ ...waiting, ...traced("a") }, cleanReport);
      assert.equal(await stores.results.find({ tenant: "shop", traceId: "a" }), undefined);
    });

    test("a trace id that is submitted again hides the older result at once, until it is finished itself", async () => {
      await using stores = await make();
      await finished(stores, "a", 1);
      const second = submission("a");
      await submitted(stores, second);
      assert.equal(await stores.results.find(traced("a")), undefined);
      await stores.results.keep(second, { ...cleanReport, sizeBytes: 2 });
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 2);
    });

    test("an older job that finishes late changes nothing", async () => {
      await using stores = await make();
      const [older, newer] = [submission("a"), submission("a")];
      await submitted(stores, older);
      await submitted(stores, newer);
      await stores.results.keep(older, { ...cleanReport, sizeBytes: 1 });
      assert.equal(await stores.results.find(traced("a")), undefined);
      await stores.results.keep(newer, { ...cleanReport, sizeBytes: 2 });
      await stores.results.keep(older, { ...cleanReport, sizeBytes: 1 });
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 2);
    });

    test("the newest submission is the last that was added, whatever the clock said", async () => {
      await using stores = await make();
      const [first, second] = [submission("a", 2000), submission("a", 1000)];
      await submitted(stores, first);
      await submitted(stores, second);
      await stores.results.keep(first, { ...cleanReport, sizeBytes: 1 });
      await stores.results.keep(second, { ...cleanReport, sizeBytes: 2 });
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 2);
    });

    test("of a result that is kept twice the first stays", async () => {
      await using stores = await make();
      const twice = submission("a");
      await submitted(stores, twice);
      await stores.results.keep(twice, { ...cleanReport, sizeBytes: 1 });
      await stores.results.keep(twice, { ...cleanReport, sizeBytes: 2 });
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 1);
    });

    test("a result that cannot be kept is refused with QueueUnavailable", async () => {
      await using stores = await make();
      const refused = submission("a");
      await submitted(stores, refused);
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.results.keep(refused, cleanReport), QueueUnavailable);
      }
      assert.equal(await stores.results.find(traced("a")), undefined);
    });

    if (!toldClock) return;

    test("a result is found for 24 hours and not longer, though nothing sweeps it", async () => {
      await using stores = await make();
      const kept = await finished(stores, "a", 1);
      await stores.advance(24 * HOUR - 1);
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 1);
      await stores.results.keep(kept, { ...cleanReport, sizeBytes: 1 });
      await stores.advance(1);
      assert.equal(await stores.results.find(traced("a")), undefined);
      await stores.results.keep(kept, { ...cleanReport, sizeBytes: 1 });
      assert.equal(await stores.results.find(traced("a")), undefined, "keeping it again does not prolong it");
    });

    test("a trace id can be used again after its result is over", async () => {
      await using stores = await make();
      await finished(stores, "a", 1);
      await stores.advance(30 * HOUR);
      await stores.queue.take(1);
      await finished(stores, "a", 2);
      assert.equal((await stores.results.find(traced("a")))?.sizeBytes, 2);
    });

    test("a job that waits for days still gets its result kept for 24 hours", async () => {
      await using stores = await make();
      const job = sampleJob({ traceId: "slow" });
      const expected = { ...traced("slow"), jobId: job.id, submittedAt: job.submittedAt };
      await stores.queue.add(job);
      for (let day = 0; day < 4; day += 1) {
        const [lease] = await stores.queue.take(1);
        await lease?.settle({ kind: "again", afterSeconds: 5, job });
        await stores.advance(25 * HOUR);
      }
      await stores.results.keep(expected, cleanReport);
      await stores.advance(23 * HOUR);
      assert.deepEqual(await stores.results.find(traced("slow")), cleanReport);
      await stores.advance(2 * HOUR);
      assert.equal(await stores.results.find(traced("slow")), undefined);
    });
  });
}

let jobs = 0;

function submission(traceId: string, submittedAt = 1_790_000_000_000): TracedJob {
  jobs += 1;
  return { ...traced(traceId), jobId: `job-${jobs}`, submittedAt };
}

/** The job of a submission is added to the queue. */
async function submitted(stores: Stores, { jobId, ...parts }: TracedJob): Promise<void> {
  await stores.queue.add(sampleJob({ id: jobId, ...parts }));
}

async function finished(stores: Stores, traceId: string, sizeBytes: number): Promise<TracedJob> {
  const expected = submission(traceId);
  await submitted(stores, expected);
  await stores.results.keep(expected, { ...cleanReport, sizeBytes });
  return expected;
}
