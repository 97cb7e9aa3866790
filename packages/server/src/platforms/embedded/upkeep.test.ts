import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { cleanReport, sampleJob, traced } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { AUDIT_KEPT_MS } from "../../access/audit-log.ts";
import type { Job } from "../../model/job.ts";
import { type JobStore, openJobStore } from "./job-store.ts";
import { compactDatabase, databaseSize } from "./sqlite/database-size.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";

const MB = 1_000_000;
/** Free pages that are kept for the next burst. */
const KEPT_BYTES = 2048 * 4096;
const LARGE = "x".repeat(16_000);

test("20,000 jobs in and out, and large ones, leave a database of the size of what still waits", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path);
  await addMany(store, 20_000);
  await addMany(store, 1500, { customData: LARGE });
  const full = sizeIn(folder.path).bytes;
  await finish(store, 21_000);
  await until("it is small", async () => {
    await store.queue.take(0);
    return sizeIn(folder.path).freeBytes <= KEPT_BYTES;
  });
  const { bytes, freeBytes, rows } = sizeIn(folder.path);
  assert.ok(full > 35 * MB && bytes < 20 * MB, `${full} bytes before, ${bytes} now`);
  assert.ok(bytes - freeBytes < 12 * MB, `500 large jobs take ${bytes - freeBytes} bytes`);
  assert.equal(rows.jobs, 500);
  await finish(store, 500);
  await store.close();
  assert.equal(check(folder.path), "ok");
});

test("entries of the audit log that are over leave it, and others stay", async () => {
  using folder = temporaryFolder();
  let now = Date.now();
  const store = await openJobStore(folder.path, { now: () => now });
  const entry = { who: "operator", tenant: "", what: "keys.create", on: "shop/web", from: "here" };
  await Promise.all(Array.from({ length: 120 }, () => store.audit.add({ at: now, ...entry })));
  now += AUDIT_KEPT_MS;
  await store.audit.add({ at: now, ...entry });
  const db = new DatabaseSync(join(folder.path, "jobs.db"), { readOnly: true });
  await until("they are gone", async () => {
    await store.queue.take(0);
    return Number(db.prepare("SELECT count(*) AS count FROM audit").get()?.count) <= 1;
  });
  assert.equal((await store.audit.list({ limit: 9 }))?.entries.length, 1);
  db.close();
  await store.close();
});

test("results that are over, however many, leave it too while jobs come in", async () => {
  using folder = temporaryFolder();
  let now = Date.now();
  const store = await openJobStore(folder.path, { now: () => now });
  await addMany(store, 5000, {}, true);
  await finish(store, 5000, true);
  assert.equal(sizeIn(folder.path).rows.results, 5000);
  now += 25 * 3600 * 1000;
  await until("they are gone", async () => {
    await store.queue.add(sampleJob());
    await store.queue.take(1);
    return sizeIn(folder.path).rows.results < 5000 / 2;
  });
  await store.close();
});

test("a database of before is rewritten at the start if little is in it, and gives room back from then on", async () => {
  using folder = temporaryFolder();
  await makeOld(folder.path, 500);
  const store = await openJobStore(folder.path);
  assert.deepEqual([sizeIn(folder.path).givesBack, sizeIn(folder.path).rows.jobs], [true, 500]);
  await finish(store, 500);
  await store.close();
});

test("a larger one stays as it is until lazaret jobs compact, which needs it for itself", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "jobs.db");
  await makeOld(folder.path, 1500, { customData: LARGE });
  const store = await openJobStore(folder.path);
  assert.equal(sizeIn(folder.path).givesBack, false);
  assert.throws(
    () => compactDatabase(path),
    (error) => {
      assert.ok(error instanceof DatabaseUnavailable);
      assert.match(`${error.message}; ${error.hint}`, /another process has it open; stop lazaret first/);
      return true;
    },
  );
  await finish(store, 1400);
  await store.close();
  assert.ok(sizeIn(folder.path).bytes > 20 * MB);
  compactDatabase(path);
  const { bytes, givesBack, rows } = sizeIn(folder.path);
  assert.ok(bytes < 3 * MB, `${bytes} bytes`);
  assert.deepEqual([givesBack, rows.jobs], [true, 100]);
  const again = await openJobStore(folder.path);
  await finish(again, 100);
  await again.close();
});

test("a start that cannot rewrite goes on without", async () => {
  using folder = temporaryFolder();
  await makeOld(folder.path, 10);
  using other = new DatabaseSync(join(folder.path, "jobs.db"));
  other.exec("BEGIN IMMEDIATE");
  const store = await openJobStore(folder.path, { busyTimeoutMs: 20 });
  other.exec("ROLLBACK");
  assert.equal(sizeIn(folder.path).givesBack, false);
  await finish(store, 10);
  await store.close();
});

/** As earlier versions made it: it keeps its pages for ever. */
async function makeOld(dataDir: string, jobs: number, parts: Partial<Job> = {}): Promise<void> {
  const store = await openJobStore(dataDir);
  await addMany(store, jobs, parts);
  await store.close();
  using db = new DatabaseSync(join(dataDir, "jobs.db"));
  db.exec("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL");
}

async function addMany(store: JobStore, count: number, parts: Partial<Job> = {}, traced = false): Promise<void> {
  const job = (): Job => {
    const { traceId, ...rest } = sampleJob(parts);
    return traced && traceId !== undefined ? { ...rest, traceId } : rest;
  };
  await Promise.all(Array.from({ length: count }, () => store.queue.add(job())));
}

async function finish(store: JobStore, count: number, keep = false): Promise<void> {
  for (let left = count; left > 0; ) {
    const leases = await store.queue.take(Math.min(left, 500));
    assert.ok(leases.length > 0, `${left} jobs are missing`);
    left -= leases.length;
    await Promise.all(
      leases.map(async ({ job, settle }) => {
        const { id: jobId, traceId = "", submittedAt } = job;
        if (keep) await store.results.keep({ ...traced(traceId), jobId, submittedAt }, cleanReport);
        assert.equal(await settle({ kind: "done" }), true);
      }),
    );
  }
}

function sizeIn(dataDir: string): NonNullable<ReturnType<typeof databaseSize>> {
  const size = databaseSize(join(dataDir, "jobs.db"));
  assert.ok(size);
  return size;
}

function check(dataDir: string): unknown {
  using db = new DatabaseSync(join(dataDir, "jobs.db"));
  return db.prepare("PRAGMA integrity_check").get()?.integrity_check;
}
