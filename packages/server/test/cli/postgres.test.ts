import assert from "node:assert/strict";
import { test } from "node:test";
import { openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { sampleJob } from "../contracts/sample-job.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { sharedPostgres } from "../support/postgres.ts";
import { runCli } from "../support/run-cli.ts";

const secretKey = "5e".repeat(32);

async function lazaret(
  args: string[],
  more: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  using folder = temporaryFolder();
  const { url } = await sharedPostgres();
  const env = { LAZARET_PLATFORM: "postgres", LAZARET_POSTGRES_URL: url, LAZARET_SECRET_KEY: secretKey, ...more };
  await using run = runCli(args, { cwd: folder.path, env });
  return { code: Number(await run.ended()), out: run.stdout, err: run.stderr };
}

test("migrate prints what it would do, does it, and then has nothing to do; jobs and dead letters are shown", async () => {
  const { url } = await sharedPostgres();
  const missing = await lazaret(["jobs", "list"]);
  assert.equal(missing.code, 78);
  assert.match(missing.err, /lacks 0001-tables\.sql.*\nhint: run lazaret migrate/);

  const dry = await lazaret(["migrate", "--dry-run"]);
  assert.match(dry.out, /^-- 0001-tables\.sql\n[\s\S]*CREATE TABLE jobs/);
  assert.deepEqual([(await lazaret(["migrate"])).out, (await lazaret(["migrate"])).out], ["0001-tables.sql\n", ""]);

  const options = { url, pool: 2, schema: "lazaret", migrate: false };
  const store = await openJobStore({ ...options, secretKey: Buffer.from(secretKey, "hex") });
  const job = sampleJob();
  await store.queue.add(job);
  const [lease] = await store.queue.take(1);
  await lease?.settle({ kind: "buried", reason: "test", job });
  await store.close();
  assert.match((await lazaret(["dlq", "list"])).out, new RegExp(`${job.id} .*test`));
  assert.equal((await lazaret(["dlq", "redrive", "--all"])).out, "put back 1 of 1\n");
  assert.match((await lazaret(["jobs", "list"])).out, new RegExp(`${job.id} +ready`));
});

test("says what is missing, wrong or away, with a hint and without the password", async () => {
  const nothing = await lazaret(["migrate"], { LAZARET_POSTGRES_URL: "", LAZARET_SECRET_KEY: "" });
  assert.equal(nothing.code, 78);
  assert.match(nothing.err, /needs LAZARET_POSTGRES_URL and LAZARET_SECRET_KEY\nhint: .*openssl rand -hex 32/);
  const away = await lazaret(["migrate"], { LAZARET_POSTGRES_URL: "postgresql://me:hidden-password@127.0.0.1:1/x" });
  assert.equal(away.code, 78);
  assert.match(away.err, /cannot be reached\nhint: start the server/);
  assert.doesNotMatch(away.err, /hidden-password/);
  const embedded = await lazaret(["migrate"], { LAZARET_PLATFORM: "embedded" });
  assert.match(embedded.err, /nothing to migrate on platform embedded/);
});
