import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { postgresProxy } from "../support/postgres-proxy.ts";
import { postgresPlace, postgresStores } from "../support/postgres-stores.ts";
import { takeOne } from "./job-queue.ts";
import { cleanReport, sampleJob, traced } from "./sample-job.ts";

/** Two processes on one schema; the answers to one of them can be lost. */
async function twoProcesses() {
  const all = new AsyncDisposableStack();
  const place = all.use(await postgresPlace());
  const proxy = all.use(await postgresProxy(place.server.url));
  const cut = all.use(await postgresStores(place, { ...place.options, url: proxy.url, pool: 1 }));
  const other = all.use(await postgresStores(place));
  // A connection is open, so that what is lost next is the answer to a statement.
  await cut.queue.counts();
  return { proxy, cut, other, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test("a job whose acknowledgement was lost on the way is there once", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other } = parts;
  const job = sampleJob();
  proxy.loseNextAnswer(async () => {});
  await cut.queue.add(job);
  assert.deepEqual((await takeOne(other)).job, job);
});

test("and is not there again when another process has finished it meanwhile", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other } = parts;
  const jobs = [sampleJob(), sampleJob(), sampleJob()];
  proxy.loseNextAnswer(async () => {
    for (const lease of await other.queue.take(10)) await lease.settle(done);
  });
  await Promise.all(jobs.map((job) => cut.queue.add(job)));
  assert.deepEqual((await other.browser.list({ limit: 10 })).entries, []);
});

test("progress whose acknowledgement was lost is saved, and the lease holds", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut } = parts;
  const job = sampleJob();
  await cut.queue.add(job);
  const lease = await takeOne(cut);
  proxy.loseNextAnswer(async () => {});
  assert.equal(await lease.save({ ...job, report: cleanReport }), true);
  assert.equal(await lease.settle(done), true);
});

test("a settlement whose answer was lost is not called lost: nobody knows, and the job is settled", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other } = parts;
  await cut.queue.add(sampleJob());
  const lease = await takeOne(cut);
  proxy.loseNextAnswer(async () => {});
  await assert.rejects(lease.settle(done), QueueUnavailable);
  assert.deepEqual((await other.browser.list({ limit: 10 })).entries, []);
});

test("jobs that were taken are handed out, though the connection was cut in the look for more", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other } = parts;
  for (let messages = 0, over = false; !over; messages += 1) {
    assert.ok(messages < 40, "it is always cut");
    for (const tenant of ["one", "two"]) await other.queue.add(sampleJob({ tenant }));
    await cut.queue.counts();
    // What the server was not asked whole is undone: nobody else knows of a lease.
    const wasCut = proxy.cutAfter(messages, "client");
    const leases = await cut.queue.take(5, { held: new Map(), perShare: 2 }).catch(() => []);
    over = !wasCut();
    const { entries } = await other.browser.list({ limit: 10, state: "leased" });
    assert.deepEqual(entries.map(({ id }) => id).sort(), leases.map(({ job }) => job.id).sort(), `cut at ${messages}`);
    for (const lease of [...leases, ...(await other.queue.take(5))]) await lease.settle(done);
  }
});

test("a result and messages that are written in the turn of a settlement are in its transaction", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other } = parts;
  const job = sampleJob({ traceId: "together" });
  await cut.queue.add(job);
  const lease = await takeOne(cut);
  // The answer to BEGIN is lost: nothing of the first try may be there, all of the second.
  proxy.loseNextAnswer(async () => {
    assert.equal((await other.browser.list({ limit: 10 })).entries.length, 1);
    assert.equal(await other.results.find(traced("together")), undefined);
  });
  const { id: jobId, submittedAt } = job;
  await Promise.all([
    cut.results.keep({ ...traced("together"), jobId, submittedAt }, cleanReport),
    cut.outbox.add([{ id: "m", receiver: "r", body: "{}" }]),
    lease.settle(done),
  ]);
  assert.deepEqual(await other.results.find(traced("together")), cleanReport);
  assert.equal((await other.outbox.counts())[0]?.waiting, 1);
  assert.deepEqual((await other.browser.list({ limit: 10 })).entries, []);
});
