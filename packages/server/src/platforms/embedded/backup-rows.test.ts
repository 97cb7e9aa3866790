import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { cleanReport, oddText, sampleFinding, sampleJob, traced } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { DEFAULT_TENANT } from "../../model/tenant.ts";
import { newJobId } from "../../queue/job-queue.ts";
import { makeBackup } from "./backup.ts";
import { type JobStore, openJobStore } from "./job-store.ts";
import { restoreBackup } from "./restore.ts";

const now = Date.now();
/** It stands still: ages are compared, too. */
const clock = { now: () => now };

test("what is restored from a running store is the same, entry by entry: jobs, history, findings, the audit log and the rest", async () => {
  using place = temporaryFolder();
  const [dataDir, restored] = [join(place.path, "data"), join(place.path, "restored")];
  const store = await openJobStore(dataDir, clock);
  await fill(store);
  const before = await seen(store);
  const { path: backup } = await makeBackup({
    dataDir,
    into: join(place.path, "backups"),
    withKeys: true,
    now: new Date(now),
  });
  const rows = rowsOf(dataDir);
  await store.close();
  await restoreBackup({ backup, dataDir: restored });
  // As they are stored first: a store that is opened may write.
  assert.deepEqual(rowsOf(restored), rows);
  const again = await openJobStore(restored, clock);
  try {
    assert.deepEqual(await seen(again), before);
  } finally {
    await again.close();
  }
  const empty = Object.keys(rows).filter((table) => rows[table]?.length === 0);
  assert.deepEqual(empty, ["shared_counts", "usage"], "tables that this says nothing about");
});

/** Some of everything that a service keeps. */
async function fill({ queue, results, findings, audit, access, outbox, usage, ...store }: JobStore): Promise<void> {
  for (let index = 0; index < 12; index += 1) {
    const at = now - 1000 + index;
    await queue.add(sampleJob({ id: newJobId(at), submittedAt: at, traceId: `trace ${index}` }));
    await findings.add(sampleFinding({ at, finding: `Test-${index}`, detail: oddText }));
    const entry = { who: "operator root", tenant: "", what: "keys.create", on: `${oddText} ${index}`, from: "host" };
    await audit.add({ at, ...entry, details: { scopes: "scan", index } });
  }
  const leases = await queue.take(8);
  for (const { job, settle } of leases.slice(0, 5)) {
    await settle({ kind: "done", job: { ...job, report: cleanReport } });
    await results.keep({ ...traced(job.traceId ?? ""), jobId: job.id, submittedAt: job.submittedAt }, cleanReport);
  }
  for (const { job, settle } of leases.slice(5)) await settle({ kind: "buried", reason: oddText, job });
  const urls = { downloadUrl: "https://files.example/a", callbackUrl: "https://receiver.example/" };
  const error = { code: "HTTP_500", message: "it answered 500", metadata: { attempts: 6, status_code: 500 } };
  await store.callbackFailures.record({ tenant: DEFAULT_TENANT, id: newJobId(), failedAt: now, ...urls, error });
  const key = { name: "web", tenant: "shop", scopes: ["scan"], digest: "ab".repeat(32), madeAt: now } as const;
  await access.addKey({ id: "k1", ...key, limits: {} });
  await access.putTenant({ name: "shop", weight: 2, limits: {}, buckets: ["shop-*"] }, undefined);
  await outbox.add([{ id: "m1", receiver: "topic", body: JSON.stringify(oddText) }]);
  await usage.add([{ tenant: "shop", key: "web", accepted: 3, files: 2, bytes: 4096 }]);
}

/** What people and clients can ask for. */
async function seen(store: JobStore): Promise<unknown> {
  const lists = [store.browser, store.deadLetters, store.history, store.findings, store.audit];
  const pages = await Promise.all(lists.map((list) => list.list({ limit: 100 })));
  const counts = pages.map((page) => page?.entries.length);
  assert.deepEqual(counts, [7, 3, 5, 12, 12]);
  return {
    pages,
    lives: await Promise.all((await store.history.ofTrace(traced("trace 0"))).map((id) => store.history.show(id))),
    result: await store.results.find(traced("trace 0")),
    failures: await store.callbackFailures.list({ tenant: DEFAULT_TENANT, limit: 100 }),
    access: await store.access.read(),
    usage: await store.usage.thisMonth("shop"),
    outbox: await store.outbox.counts(),
  };
}

/** Every row of every table. */
function rowsOf(dataDir: string): Record<string, unknown[]> {
  using db = new DatabaseSync(join(dataDir, "jobs.db"), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  return Object.fromEntries(tables.map(({ name }) => [name, db.prepare(`SELECT * FROM ${name}`).all()]));
}
