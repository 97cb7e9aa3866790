import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import pg from "pg";
import { postgresBookmarks } from "../../src/platforms/postgres/bookmarks.ts";
import { databaseState } from "../../src/platforms/postgres/database-state.ts";
import { migrateDatabase, openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { postgresKeyCare } from "../../src/platforms/postgres/signing-keys.ts";
import type { Lease } from "../../src/queue/job-queue.ts";
import { cleanReport, sampleFinding, sampleJob, traced } from "../contracts/sample-job.ts";
import { sharedPostgres } from "../support/postgres.ts";
import { root } from "./place.ts";

const page = readFileSync(join(root, "docs/postgresql-rights.md"), "utf8");

function block(name: string): string {
  const [, sql] = new RegExp(`^\`\`\`sql ${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  return sql ?? assert.fail(`there is no block ${name}`);
}

async function runSql(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

test("with the rights of docs/postgresql-rights.md one role migrates, and another does all the rest and cannot change a table", async () => {
  const { url } = await sharedPostgres();
  const urlOf = (role: string): string => url.replace("//lazaret@", `//${role}@`);
  const [admin, owner, runner] = [urlOf("postgres"), urlOf("lazaret_owner"), urlOf("lazaret_runner")];
  await runSql(admin, block("roles"));
  await runSql(owner, block("grants"));
  const common = { pool: 2, schema: "lazaret", secretKey: randomBytes(32) };
  const unmigrated = openJobStore({ ...common, url: runner, migrate: true });
  await assert.rejects(unmigrated, /the user lacks rights/, "the runner cannot migrate");
  assert.equal((await migrateDatabase({ ...common, url: owner, dryRun: false })).length > 0, true);
  await runSql(owner, block("migrations"));

  const options = { ...common, url: runner, migrate: false };
  assert.deepEqual((await databaseState(options)).missingRights, []);
  const store = await openJobStore(options);
  await using _ = { [Symbol.asyncDispose]: store.close };
  const taken = async (): Promise<Lease> => (await store.queue.take(1))[0] ?? assert.fail("nothing was taken");
  await store.tryToWrite();
  const job = sampleJob();
  await store.queue.add(job);
  const lease = await taken();
  assert.equal(await lease.extend(), true);
  assert.equal(await lease.save(lease.job), true);
  const { id: jobId, traceId = "", submittedAt } = job;
  await store.results.keep({ ...traced(traceId), jobId, submittedAt }, cleanReport);
  assert.deepEqual(await store.results.find(traced(traceId)), cleanReport);
  assert.equal(await lease.settle({ kind: "buried", reason: "test", job: lease.job }), true);
  assert.equal(await store.deadLetters.redrive("all"), 1);
  assert.equal(await (await taken()).settle({ kind: "done", job }), true);
  assert.equal((await store.history.show(jobId))?.job.traceId, traceId);
  await store.findings.add(sampleFinding());
  assert.equal((await store.findings.list({ limit: 5 }))?.entries.length, 1);
  await store.upkeep.sweep();
  await store.outbox.add([{ receiver: "r", id: "m", body: "text" }]);
  for (const message of await store.outbox.take([{ receiver: "r", limit: 1 }])) await message.end({ kind: "sent" });
  await store.outbox.sweep();
  await store.outbox.counts();
  await store.queue.counts();
  await store.usage.add([{ tenant: "shop", key: "web", accepted: 1, files: 1, bytes: 1 }]);
  await store.browser.list({ limit: 10 });
  await postgresBookmarks(store).of("b", {}).write({ key: "k", startedAt: 1 });
  await postgresKeyCare(store, "stack").rotate(2048);

  for (const sql of ["DROP TABLE lazaret.jobs", "DELETE FROM lazaret.migrations", "CREATE TABLE lazaret.mine ()"]) {
    await assert.rejects(runSql(runner, sql), /must be owner|permission denied/, sql);
  }
  await runSql(owner, "REVOKE DELETE ON lazaret.jobs FROM lazaret_runner");
  assert.deepEqual((await databaseState(options)).missingRights, ["DELETE on lazaret.jobs"]);
});
