import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { cleanReport, sampleJob } from "../../../test/contracts/sample-job.ts";
import { directConnection } from "../../../test/support/direct-connection.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { jobStore, openJobStore } from "./job-store.ts";
import { openDatabase } from "./sqlite/open-database.ts";

async function opened(dataDir: string) {
  const store = await openJobStore(dataDir);
  return { ...store, [Symbol.asyncDispose]: store.close };
}

test("nothing of a message can be found in the data folder while it waits, is sent and is gone", async () => {
  using folder = temporaryFolder();
  const canary = "canary-in-the-coal-mine";
  const body = JSON.stringify({ key: canary, custom_data: canary });
  const nowhere = (): void => {
    const found = readdirSync(folder.path).filter((name) => readFileSync(join(folder.path, name)).includes(canary));
    assert.deepEqual(found, []);
  };
  const store = await openJobStore(folder.path);
  await store.outbox.add([{ id: "1", receiver: "a", body }]);
  nowhere();
  const [lease] = await store.outbox.take([{ receiver: "a", limit: 1 }]);
  assert.equal(lease?.message.body, body);
  nowhere();
  await lease?.end({ kind: "failed", afterSeconds: 0 });
  await store.close();
  nowhere();
});

test("a message that is damaged is dropped and counted, and the next one goes on", async () => {
  using folder = temporaryFolder();
  await using store = await opened(folder.path);
  await store.outbox.add([
    { id: "damaged", receiver: "a", body: "1" },
    { id: "swapped", receiver: "a", body: "2" },
    { id: "whole", receiver: "a", body: "3" },
  ]);
  const db = new DatabaseSync(join(folder.path, "jobs.db"), { timeout: 10_000 });
  db.exec("UPDATE outbox SET sealed = zeroblob(200) WHERE id = 'damaged'");
  db.exec("UPDATE outbox SET sealed = (SELECT sealed FROM outbox WHERE id = 'whole') WHERE id = 'swapped'");
  db.close();
  const leases = await store.outbox.take([{ receiver: "a", limit: 3 }]);
  assert.deepEqual(
    leases.map(({ message }) => message.id),
    ["whole"],
  );
  const [counts] = await store.outbox.counts();
  assert.deepEqual([counts?.dropped, counts?.waiting], [2, 1]);
});

test("messages that are added in the turn in which a report is saved are written in the same transaction", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "jobs.db");
  const connection = directConnection(openDatabase({ path, secretKey: randomBytes(32), busyTimeoutMs: 5000 }));
  const batches: string[][] = [];
  const store = jobStore(
    {
      ...connection,
      run(requests) {
        batches.push(requests.map(({ name }) => name));
        return connection.run(requests);
      },
    },
    Date.now,
  );
  const job = sampleJob();
  await store.queue.add(job);
  const [lease] = await store.queue.take(1);
  batches.length = 0;
  const added = store.outbox.add([{ id: "1", receiver: "a", body: "1" }]);
  const saved = lease?.save({ ...job, report: cleanReport });
  await Promise.all([added, saved]);
  assert.deepEqual(batches, [["upkeep"], ["postMessages", "save"]]);
  await store.close();
});

test("a data folder from before there was an outbox gets one, and keeps its jobs", async () => {
  using folder = temporaryFolder();
  const db = new DatabaseSync(join(folder.path, "jobs.db"));
  db.exec(VERSION_1);
  db.exec("INSERT INTO jobs VALUES (1, 'from before', 0, 0, NULL, 3, '{}', NULL, 5, NULL, zeroblob(200))");
  db.close();
  writeFileSync(join(folder.path, "secret.key"), randomBytes(32));
  await using store = await opened(folder.path);
  await store.outbox.add([{ id: "1", receiver: "a", body: "1" }]);
  assert.equal((await store.outbox.take([{ receiver: "a", limit: 1 }])).length, 1);
  assert.equal((await store.deadLetters.list({ limit: 10 })).entries[0]?.id, "from before");
});

test("however much is too old, it is dropped in steps", async () => {
  using folder = temporaryFolder();
  let now = Date.UTC(2026, 0, 1);
  const { outbox, close } = await openJobStore(folder.path, { now: () => now });
  const all = Array.from({ length: 2500 }, (_, index) => ({ id: `${index}`, receiver: `r${index % 3}`, body: "1" }));
  await outbox.add(all);
  now += 4 * 86_400_000;
  await outbox.sweep();
  const counts = await outbox.counts();
  assert.deepEqual(
    counts.map(({ waiting, waitingBytes, dropped }) => [waiting, waitingBytes, dropped]),
    [
      [0, 0, 834],
      [0, 0, 833],
      [0, 0, 833],
    ],
  );
  await close();
});

/** The tables as they were before there was an outbox. */
const VERSION_1 = `
  CREATE TABLE seal (key_check BLOB NOT NULL) STRICT;
  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    submitted_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    due_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    counts TEXT NOT NULL,
    lease_token TEXT,
    buried_at INTEGER,
    sealed_reason BLOB,
    sealed BLOB NOT NULL
  ) STRICT;
  CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX jobs_buried ON jobs (buried_at, seq) WHERE buried_at IS NOT NULL;
  CREATE TABLE results (
    trace BLOB PRIMARY KEY,
    job_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    sealed BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX results_expiry ON results (expires_at);
  PRAGMA user_version = 1;
`;
