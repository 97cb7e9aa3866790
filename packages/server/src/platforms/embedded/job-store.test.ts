import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { failedReport, sampleJob, traced } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { LEASE_SECONDS, type Lease, newJobId } from "../../queue/job-queue.ts";
import { submitJob } from "../../receive/async-routes.ts";
import { type JobStore, jobStore, openJobStore } from "./job-store.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";

async function opened(dataDir: string, options: Parameters<typeof openJobStore>[1] = {}) {
  const store = await openJobStore(dataDir, options);
  return { ...store, [Symbol.asyncDispose]: store.close };
}

/** Message and hint of the error that opening ends with. */
async function refusal(dataDir: string): Promise<string> {
  try {
    await openJobStore(dataDir);
  } catch (error) {
    if (error instanceof DatabaseUnavailable) return `${error.message}; hint: ${error.hint}`;
    throw error;
  }
  throw new Error("it was opened");
}

test("the data folder and all files in it are for the owner only", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "new", "data");
  await using store = await opened(dataDir);
  await store.queue.add(sampleJob());
  assert.equal(statSync(dataDir).mode & 0o777, 0o700);
  const modes = readdirSync(dataDir).map((name) => [name, statSync(join(dataDir, name)).mode & 0o777]);
  assert.deepEqual(modes.toSorted(), [
    ["jobs.db", 0o600],
    ["jobs.db-shm", 0o600],
    ["jobs.db-wal", 0o600],
    ["secret.key", 0o600],
  ]);
});

test("nothing that a client sent can be found in the data folder at any time of a job's life", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  const canary = "canary-in-the-coal-mine";
  const job = sampleJob({
    tenant: canary,
    traceId: canary,
    customData: canary,
    source: { kind: "url", url: `https://${canary}.example/${canary}?${canary}`, headers: { [canary]: canary } },
    callback: { url: `https://${canary}.example/${canary}?${canary}`, headers: { [canary]: canary } },
  });
  const failure = { finding: canary, code: canary, message: canary, passing: false };
  const report = { ...failedReport, verdict: { kind: "infected", finding: canary } as const, failure };
  const submission = { tenant: job.tenant, traceId: canary, jobId: job.id, submittedAt: 0 };

  await store.queue.add(job);
  assertNowhere(folder.path, canary);
  const [lease] = await store.queue.take(1);
  assert.deepEqual(lease?.job, job);
  await lease?.save({ ...job, report });
  await store.results.keep(submission, report);
  assertNowhere(folder.path, canary);
  await lease?.settle({ kind: "again", afterSeconds: 0, job: { ...job, report } });
  assertNowhere(folder.path, canary);
  const [again] = await store.queue.take(1);
  await again?.settle({ kind: "buried", reason: canary, job: { ...job, report } });
  assert.equal((await store.deadLetters.show(job.id))?.reason, canary);
  assertNowhere(folder.path, canary);
  await store.close();
  assertNowhere(folder.path, canary);
});

test("a job whose content was damaged is buried as unreadable, can be listed and purged, and others go on", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  const [damaged, whole] = [sampleJob(), sampleJob()];
  await store.queue.add(damaged);
  await store.queue.add(whole);
  change(folder.path, `UPDATE jobs SET sealed = zeroblob(200) WHERE id = '${damaged.id}'`);
  assert.deepEqual(
    (await store.queue.take(10)).map(({ job }) => job.id),
    [whole.id],
  );
  const letter = await store.deadLetters.show(damaged.id);
  assert.deepEqual([letter?.reason, letter?.job], ["unreadable", undefined]);
  assert.equal((await store.browser.list({ limit: 10 })).entries.length, 2);
  assert.equal(await store.deadLetters.purge("all"), 1);
});

test("a submission is one request to the database, so that no batch can part a job from its trace id", async () => {
  const requests: string[] = [];
  const connection = {
    async run(batch: readonly { name: string }[]) {
      requests.push(...batch.map(({ name }) => name));
      return batch.map(() => ({ kind: "value", value: undefined }) as const);
    },
    close: async () => {},
  };
  const store = jobStore(connection, Date.now);
  const submit = submitJob({ add: store.queue.add, newId: newJobId, now: Date.now });
  const { source, tenant, key } = sampleJob();
  await Promise.all(
    Array.from({ length: 600 }, (_, index) => submit({ source, tenant, key, traceId: `trace ${index}` })),
  );
  assert.deepEqual([requests.length, new Set(requests)], [600, new Set(["add"])]);
  await store.close();
});

test("results that are over are swept while workers take, and awaited ones stay", async () => {
  using folder = temporaryFolder();
  let now = Date.UTC(2026, 0, 1);
  await using store = await opened(folder.path, { now: () => now });
  const awaited = sampleJob({ traceId: "awaited" });
  await store.queue.add(awaited);
  now += 1;
  await Promise.all(
    Array.from({ length: 250 }, async (_, index) => {
      const submission = { ...traced(`trace ${index}`), jobId: `job ${index}`, submittedAt: now };
      await store.queue.add(sampleJob({ id: submission.jobId, traceId: submission.traceId }));
      await store.results.keep(submission, failedReport);
    }),
  );
  now += 25 * 3600 * 1000;
  await until("all but one are swept", async () => {
    await store.queue.take(0);
    return ask(folder.path, "SELECT count(*) AS count FROM results").count === 1;
  });
  await store.results.keep({ ...traced("awaited"), jobId: awaited.id, submittedAt: now }, failedReport);
  assert.deepEqual(await store.results.find(traced("awaited")), failedReport);
});

test("many jobs are counted in steps, and nothing is counted twice or left out", async () => {
  using folder = temporaryFolder();
  const now = Date.UTC(2026, 0, 1);
  await using store = await opened(folder.path, { now: () => now });
  // Several at each moment, also where a step ends.
  const rows = (first: number, count: number, times: string): string =>
    `INSERT INTO jobs (id, submitted_at, since, ${times.split("=")[0]}, lease_token, counts, sealed)
     WITH RECURSIVE n(i) AS (SELECT ${first} UNION ALL SELECT i + 1 FROM n WHERE i < ${first + count - 1})
     SELECT 'job ' || i, 0, 0, ${times.split("=")[1]}, iif(i % 10 = 0, 'token', NULL), '{}', x'' FROM n`;
  change(folder.path, rows(0, 70_000, `due_at=${now} - i / 7`));
  change(folder.path, rows(100_000, 60_000, `due_at=${now} + 1 + i % 1000`));
  change(folder.path, rows(200_000, 110_000, `buried_at=${now} - i / 7`));
  const counts = { ready: 70_000, delayed: 54_000, leased: 6000, buried: 110_000, oldestSeconds: 9.999 };
  assert.deepEqual(await store.queue.counts(), counts);
  assert.deepEqual(await store.queue.counts(), counts);
  assert.equal(await store.deadLetters.countBefore?.(now - 40_000), 30_000);
});

test("a database of a newer version is refused", async () => {
  using folder = temporaryFolder();
  await (await opened(folder.path)).close();
  change(folder.path, "PRAGMA user_version = 99");
  assert.match(
    await refusal(folder.path),
    /it has version 99, and this lazaret \(\S+\) knows \d+; hint: run lazaret as new as the one that wrote it; to go back, restore a backup from before the upgrade/,
  );
  change(folder.path, "INSERT INTO writers VALUES (99, '7.8.9')");
  assert.match(
    await refusal(folder.path),
    /lazaret 7\.8\.9 brought it to version 99, and this lazaret .*; hint: run lazaret 7\.8\.9 or newer; to go back, restore/,
  );
});

test("a database that was sealed with another key is refused, and no key is made for one that lost it", async () => {
  using folder = temporaryFolder();
  await (await opened(folder.path)).close();
  writeFileSync(join(folder.path, "secret.key"), Buffer.alloc(32, 7));
  assert.match(await refusal(folder.path), /sealed with another key than secret.key; hint: restore the secret.key/);
  writeFileSync(join(folder.path, "secret.key"), "");
  assert.match(
    await refusal(folder.path),
    /secret.key cannot be used: it has 0 bytes, not 32; hint: restore the secret.key/,
  );
  rmSync(join(folder.path, "secret.key"));
  assert.match(await refusal(folder.path), /secret.key is missing; hint: restore the secret.key/);
  assert.deepEqual(readdirSync(folder.path), ["jobs.db"]);
});

test("a file that is no database and a folder that is a file are refused with a hint", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "secret.key"), Buffer.alloc(32, 7));
  writeFileSync(join(folder.path, "jobs.db"), "this is not a database, whatever its name says".repeat(100));
  assert.match(await refusal(folder.path), /jobs.db: it is not a database; hint: restore/);
  assert.match(
    await refusal(join(folder.path, "jobs.db")),
    /cannot use the data folder .*; hint: LAZARET_DATA_DIR must/,
  );
});

test("a database that is damaged while it is open fails as unavailable, with a hint", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  await store.queue.add(sampleJob());
  change(folder.path, "PRAGMA wal_checkpoint(TRUNCATE)");
  truncateSync(join(folder.path, "jobs.db"), 4096);
  await assert.rejects(store.queue.add(sampleJob()), (error) => {
    assert.ok(error instanceof DatabaseUnavailable && error instanceof QueueUnavailable);
    assert.match(error.message, /cannot use the job database at .*jobs.db: /);
    return true;
  });
});

test("a process that keeps the database locked makes adding fail, not hang; reading goes on", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path, { busyTimeoutMs: 20 });
  await store.queue.add(sampleJob());
  const other = new DatabaseSync(join(folder.path, "jobs.db"), { timeout: 10_000 });
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(store.queue.add(sampleJob()), (error) => {
    assert.ok(error instanceof DatabaseUnavailable && error instanceof QueueUnavailable);
    assert.match(`${error.message}; ${error.hint}`, /another process keeps it locked; end the process/);
    return true;
  });
  assert.equal((await store.queue.counts()).ready, 1);
  other.exec("ROLLBACK");
  other.close();
  await store.queue.add(sampleJob());
  assert.equal((await store.queue.counts()).ready, 2);
});

test("closing finishes what was asked before, ends all waiting, and refuses what comes after", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path);
  const adds = Array.from({ length: 700 }, () => store.queue.add(sampleJob()));
  const waits = [store.queue.wait(new AbortController().signal), store.queue.wait(new AbortController().signal)];
  await store.close();
  await Promise.all([...adds, ...waits]);
  await assert.rejects(store.queue.add(sampleJob()), QueueUnavailable);
  await store.queue.wait(new AbortController().signal);
  await using again = await opened(folder.path);
  assert.equal((await again.queue.counts()).ready, 700);
});

// A wait that does not know when the job is due takes about a second: forty of them would overrun the limit.
test("waiting ends when a job that was put back becomes due", { timeout: 25_000 }, async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  await store.queue.add(sampleJob());
  for (let round = 0; round < 40; round += 1) {
    const [lease] = await taken(store);
    await lease?.settle({ kind: "again", afterSeconds: 0.02, job: lease.job });
  }
});

test("thousands of dead letters are redriven and purged in steps", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  await buryMany(store, 2500);
  assert.equal(await store.deadLetters.redrive("all"), 2500);
  await buryMany(store, 0);
  assert.equal(await store.deadLetters.purge("all"), 2500);
});

/** Waits for jobs as a worker does. */
async function taken(store: JobStore): Promise<Lease[]> {
  for (;;) {
    const leases = await store.queue.take(1);
    if (leases.length > 0) return leases;
    await store.queue.wait(new AbortController().signal);
  }
}

async function buryMany(store: JobStore, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => store.queue.add(sampleJob())));
  const leases = await store.queue.take(10_000);
  await Promise.all(leases.map((lease) => lease.settle({ kind: "buried", reason: "test", job: lease.job })));
}

function assertNowhere(folder: string, text: string): void {
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    for (const encoding of ["utf8", "utf16le", "base64", "hex"] as const) {
      const written = encoding.startsWith("utf") ? Buffer.from(text, encoding) : Buffer.from(text).toString(encoding);
      assert.equal(bytes.includes(written), false, `${text} is in ${name} as ${encoding}`);
    }
  }
}

function change(folder: string, sql: string): void {
  using db = new DatabaseSync(join(folder, "jobs.db"), { timeout: 10_000 });
  db.exec(sql);
}

function ask(folder: string, sql: string): Record<string, unknown> {
  using db = new DatabaseSync(join(folder, "jobs.db"), { timeout: 10_000 });
  return { ...db.prepare(sql).get() };
}

test("a clock that is set forward ends no lease whose holder lives, and a lease still runs out by the time that passes", async () => {
  using folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1), elapsed: 0 };
  const pass = (seconds: number): void => {
    clock.now += seconds * 1000;
    clock.elapsed += seconds * 1000;
  };
  const times = { now: () => clock.now, elapsed: () => clock.elapsed };
  await using store = await opened(folder.path, times);
  await using another = await opened(folder.path, times);
  await store.queue.add(sampleJob());
  const [dead] = await store.queue.take(1);
  assert.deepEqual(await another.queue.take(1), []);
  pass(LEASE_SECONDS + 1);
  await store.queue.add(sampleJob());
  const [, held] = await store.queue.take(2);
  assert.ok(dead && held);
  await held.extend();

  clock.now += 3_600_000;
  assert.deepEqual(await another.queue.take(10), []);
  assert.deepEqual(await store.queue.take(10), []);
  assert.equal(await held.extend(), true);
  assert.equal(await held.settle({ kind: "done" }), true);
  pass(LEASE_SECONDS + 1);
  const [again] = await store.queue.take(10);
  assert.equal(again?.job.id, dead.job.id);
  assert.equal(again?.attempt, 3);
});
