import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { cleanReport, sampleFinding, sampleJob, traced } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { newJobId } from "../../queue/job-queue.ts";
import { USUAL_RETENTION } from "../shared/retention.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { type JobStore, openJobStore } from "./job-store.ts";
import { openDatabase } from "./sqlite/open-database.ts";
import { batchRunner } from "./sqlite/operations.ts";

const start = Date.UTC(2026, 0, 1);

/** Adds, takes and settles so many, all at once; answers their ids in order. */
async function finish(store: JobStore, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newJobId(start));
  await Promise.all(
    ids.map((id, at) => store.queue.add(sampleJob({ id, submittedAt: start, traceId: `t-${at % 50}` }))),
  );
  const leases = await store.queue.take(count);
  assert.equal(leases.length, count);
  await Promise.all(leases.map((lease) => lease.settle({ kind: "done", job: { ...lease.job, report: cleanReport } })));
  return ids;
}

async function listed(store: JobStore): Promise<string[]> {
  const page = await store.history.list({ limit: 1000 });
  return page?.entries.map(({ id }) => id) ?? assert.fail("no page");
}

function rowsIn(dataDir: string): Record<string, unknown> | undefined {
  using db = new DatabaseSync(join(dataDir, "jobs.db"));
  const counts = ["history_pages", "history_content", "history_jobs"].map((t) => `(SELECT count(*) FROM ${t}) AS ${t}`);
  return { ...db.prepare(`SELECT ${counts.join(", ")}`).get() };
}

test("what one commit finishes is in few rows, each job is found, and of too many exactly the oldest go, also in the middle of a page", async () => {
  using folder = temporaryFolder();
  const clock = { now: start };
  const kept = { ...USUAL_RETENTION, historyMost: 130 };
  const store = await openJobStore(folder.path, { now: () => clock.now, kept });
  const ids = (await finish(store, 200)).sort();
  const { history_pages: pages = 0, history_jobs: jobs } = rowsIn(folder.path) ?? {};
  assert.ok(Number(pages) <= 20 && Number(pages) >= 4 && jobs === 200, `${pages} pages for ${jobs} jobs`);
  assert.deepEqual(await listed(store), ids.toReversed());
  assert.equal((await store.history.ofTrace(traced("t-7"))).length, 4);
  await store.upkeep.sweep();
  const left = await listed(store);
  assert.deepEqual([left.length, await store.history.count()], [130, 130]);
  assert.equal((await store.history.show(left[0] ?? ""))?.id, left[0]);
  const gone = ids.filter((id) => !left.includes(id));
  assert.equal(await store.history.show(gone[0] ?? ""), undefined);
  const ofTrace = await store.history.ofTrace(traced("t-7"));
  assert.deepEqual(
    ofTrace.filter((id) => gone.includes(id)),
    [],
  );

  clock.now += 24 * 3600 * 1000;
  await store.upkeep.sweep();
  assert.deepEqual(rowsIn(folder.path), { history_pages: 0, history_content: 0, history_jobs: 0 });
  assert.deepEqual((await finish(store, 3)).sort().toReversed(), await listed(store));
  assert.equal(await store.history.count(), 3);
  await store.close();
});

test("those that are kept are counted, whatever the order of their times: after a late write, a wrong clock, and when some are over", async () => {
  using folder = temporaryFolder();
  const clock = { now: start };
  const store = await openJobStore(folder.path, { now: () => clock.now });
  const counted = async (): Promise<[listed: number, counted: number]> => [
    (await listed(store)).length,
    await store.history.count(),
  ];
  assert.deepEqual(await counted(), [0, 0]);
  for (const late of [10, 5, 7, 0, 20]) {
    clock.now = start + late;
    await finish(store, 2);
  }
  assert.deepEqual(await counted(), [10, 10]);
  clock.now = start + 5 + USUAL_RETENTION.historyMs;
  assert.deepEqual(await counted(), [6, 6]);
  await store.upkeep.sweep();
  assert.deepEqual(await counted(), [6, 6]);
  clock.now = start + 20 + USUAL_RETENTION.historyMs;
  assert.deepEqual(await counted(), [0, 0]);
  await store.close();
});

test("of very many pages the numbers say how many jobs there are", async () => {
  using folder = temporaryFolder();
  const clock = { now: start };
  const store = await openJobStore(folder.path, { now: () => clock.now });
  for (let page = 0; page < 1003; page += 1) {
    clock.now = start + page;
    await finish(store, 1);
  }
  assert.equal(rowsIn(folder.path)?.history_pages, 1003);
  assert.equal(await store.history.count(), 1003);
  clock.now = start + 2 + USUAL_RETENTION.historyMs;
  assert.equal(await store.history.count(), 1000, "the first three are over");
  await store.upkeep.sweep();
  assert.equal(await store.history.count(), 1000);
  await store.close();
});

test("jobs are settled although the history is damaged, and say so to who lists them", async () => {
  for (const table of ["history_jobs", "history_pages", "history_content"]) {
    using folder = temporaryFolder();
    const before = await openJobStore(folder.path);
    for (let job = 0; job < 60; job += 1) await finish(before, 1);
    await before.close();
    overwrite(join(folder.path, "jobs.db"), table);

    const store = await openJobStore(folder.path);
    await store.queue.add(sampleJob());
    const [lease] = await store.queue.take(1);
    assert.equal(await lease?.settle({ kind: "done", job: lease.job }), true, table);
    const { ready, leased } = await store.queue.counts();
    assert.deepEqual([ready, leased], [0, 0]);
    await assert.rejects(store.history.list({ limit: 10 }), /it is damaged/);
    await store.close();
  }
});

test("findings that are damaged fail nothing else that is written together with them", async () => {
  using folder = temporaryFolder();
  await (await openJobStore(folder.path)).close();
  overwrite(join(folder.path, "jobs.db"), "findings");
  const store = await openJobStore(folder.path);
  const [added, ...found] = await Promise.allSettled([
    store.queue.add(sampleJob()),
    store.findings.add(sampleFinding()),
    store.findings.add(sampleFinding()),
  ]);
  assert.equal(added.status, "fulfilled");
  for (const each of found) assert.match(String(each.status === "rejected" && each.reason), /it is damaged/);
  assert.equal((await store.queue.take(5)).length, 1);
  await store.close();
});

/** Where the table begins. */
function overwrite(path: string, table: string): void {
  using db = new DatabaseSync(path);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const size = Number(db.prepare("PRAGMA page_size").get()?.page_size);
  const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table)?.rootpage);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(size, 0x5a), 0, size, (root - 1) * size);
  closeSync(file);
}

test("a trace id is looked for among the pages that there are, not among all that there were", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path);
  const [id = ""] = await finish(store, 1);
  await store.close();
  const { databasePath: path, secretKey } = await prepareDataFolder(folder.path);
  const open = openDatabase({ path, secretKey, busyTimeoutMs: 5000 });
  for (const table of ["pages", "content", "jobs"])
    open.db.exec(`UPDATE history_${table} SET page = page + 1000000000`);
  const [found] = batchRunner(open)([{ name: "historyOfTrace", args: { trace: traced("t-0"), overBy: 0 } }]);
  assert.deepEqual(found, { kind: "value", value: { ids: [id] } });
  open.db.close();
});

test("nothing that a client sent is in clear", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path);
  await finish(store, 2);
  await store.close();
  const bytes = readFileSync(join(folder.path, "jobs.db"), "latin1");
  assert.doesNotMatch(bytes, /t-1\b|files\.example|receiver\.example|Authorization/);
});

test("a data folder of before has its jobs after the upgrade, and they go into the history", async () => {
  using folder = temporaryFolder();
  const before = await openJobStore(folder.path);
  const { life: _, ...job } = sampleJob({ id: newJobId(start) });
  await before.queue.add(job);
  await before.close();
  {
    using db = new DatabaseSync(join(folder.path, "jobs.db"));
    for (const table of ["history_pages", "history_content", "history_jobs", "findings"])
      db.exec(`DROP TABLE ${table}`);
    db.exec("PRAGMA user_version = 5");
  }
  const store = await openJobStore(folder.path);
  const [lease] = await store.queue.take(1);
  assert.deepEqual(lease?.job, job);
  await lease?.settle({ kind: "done", job: lease.job });
  assert.deepEqual((await store.history.show(job.id))?.life, { steps: [], leftOut: 0 });
  await store.close();
});
