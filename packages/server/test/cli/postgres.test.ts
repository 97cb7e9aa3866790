import assert from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "../../src/cli/doctor/check.ts";
import { postgresBookmarks } from "../../src/platforms/postgres/bookmarks.ts";
import { openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { sampleJob } from "../contracts/sample-job.ts";
import { bucketsIn } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { sharedPostgres, testPostgres } from "../support/postgres.ts";
import { type CliOutcome, cliOutcome, runCli } from "../support/run-cli.ts";

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

  // The key of what is sealed is no business of who changes tables.
  const withoutKey = { LAZARET_SECRET_KEY: "" };
  const dry = await lazaret(["migrate", "--dry-run"], withoutKey);
  assert.match(dry.out, /^-- 0001-tables\.sql\n[\s\S]*CREATE TABLE jobs/);
  assert.deepEqual(
    [(await lazaret(["migrate"], withoutKey)).out, (await lazaret(["migrate"])).out],
    ["0001-tables.sql\n0002-tenants.sql\n0003-history.sql\n", ""],
  );

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
  assert.match(nothing.err, /needs LAZARET_POSTGRES_URL\nhint: LAZARET_POSTGRES_URL=postgresql:/);
  const keyless = await lazaret(["jobs", "list"], { LAZARET_POSTGRES_URL: "", LAZARET_SECRET_KEY: "" });
  assert.equal(keyless.code, 78);
  assert.match(keyless.err, /needs LAZARET_POSTGRES_URL and LAZARET_SECRET_KEY\nhint: .*openssl rand -hex 32/);
  const away = await lazaret(["migrate"], { LAZARET_POSTGRES_URL: "postgresql://me:hidden-password@127.0.0.1:1/x" });
  assert.equal(away.code, 75);
  assert.match(away.err, /cannot be reached\nhint: start the server/);
  assert.doesNotMatch(away.err, /hidden-password/);
  const embedded = await lazaret(["migrate"], { LAZARET_PLATFORM: "embedded" });
  assert.match(embedded.err, /nothing to migrate on platform embedded/);
});

test("serve ends with 75 while its database is away, for a unit to start it again, and with 78 where it is refused", async () => {
  using folder = temporaryFolder();
  await using server = await testPostgres({ access: ["local all refusing reject"] });
  await server.admin("CREATE ROLE refusing LOGIN");
  const env = async (url: string): Promise<Record<string, string>> => ({
    ...(await anyEngineInEnvironment()),
    LAZARET_API_KEYS: "production-key-canary",
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_DRAIN_SECONDS: "0",
    LAZARET_PLATFORM: "postgres",
    LAZARET_POSTGRES_URL: url,
    LAZARET_SECRET_KEY: secretKey,
  });
  const serve = async (url: string): Promise<CliOutcome> =>
    cliOutcome(["serve"], { cwd: folder.path, env: await env(url) });
  const refused = await serve(server.url.replace("lazaret@", "refusing@"));
  assert.deepEqual([refused.code, /access is refused\nhint: /.test(refused.err)], [78, true], refused.err);
  const nowhere = await serve(server.url.replace("/lazaret?", "/another?"));
  assert.deepEqual([nowhere.code, /no such database\nhint: /.test(nowhere.err)], [78, true], nowhere.err);

  await server.stop("fast");
  const away = await serve(server.url);
  assert.deepEqual([away.code, /cannot be reached\nhint: /.test(away.err)], [75, true], away.err);
  await server.start();
  await using run = runCli(["serve"], { cwd: folder.path, env: await env(server.url) });
  await run.says(/"event":"listening"/);
  assert.equal(await run.stop(), 0);
});

test("every command that works on stored jobs and keys works on the database", async () => {
  using folder = temporaryFolder();
  const { url, sql } = await sharedPostgres();
  const more = { LAZARET_POSTGRES_SCHEMA: "commands" };
  assert.equal((await lazaret(["migrate"], more)).code, 0);
  const options = { url, pool: 2, schema: "commands", migrate: false, secretKey: Buffer.from(secretKey, "hex") };
  const store = await openJobStore(options);
  const [one, other] = [sampleJob(), sampleJob()];
  for (const job of [one, other]) await store.queue.add(job);
  for (const lease of await store.queue.take(2)) await lease.settle({ kind: "buried", reason: "test", job: lease.job });
  await store.close();

  assert.equal(JSON.parse((await lazaret(["dlq", "show", one.id], more)).out).reason, "test");
  assert.equal((await lazaret(["dlq", "purge", one.id], more)).out, "deleted 1 of 1\n");
  assert.equal((await lazaret(["dlq", "redrive", other.id, one.id], more)).code, 1, "one of them is gone");
  assert.equal(JSON.parse((await lazaret(["jobs", "show", other.id, "--json"], more)).out).state, "ready");
  const compact = await lazaret(["jobs", "compact"], more);
  assert.equal(compact.code, 78);
  assert.match(compact.err, /in no file\nhint: .*PostgreSQL keeps its tables small/);

  const made = await lazaret(["keys", "create", "--name", "web", "--tenant", "shop", "--scope", "scan"], more);
  assert.match(made.out, /^lz_\w{8}_\w{38}\n$/);
  assert.match((await lazaret(["keys", "list"], more)).out, /\nweb +shop +scan /);
  assert.match((await lazaret(["audit"], more)).out, /keys\.create +shop\/web/);
  const none = await lazaret(["signing-keys", "show"], more);
  assert.equal(none.code, 78);
  assert.match(none.err, /no signing key in the job database\nhint: .*lazaret signing-keys rotate makes one now/);
  assert.match((await lazaret(["signing-keys", "rotate", "--bits", "3072"], more)).out, /^SHA256:/);
  const second = await lazaret(["signing-keys", "rotate"], more);
  assert.match(second.err, /is kept in commands\.signing_keys, callback before .*\nhint: .*public --all/);
  const shown = JSON.parse((await lazaret(["signing-keys", "show", "--json"], more)).out);
  assert.equal(shown.fingerprint, second.out.trim());
  assert.deepEqual([shown.kind, shown.row, shown.earlier.length], ["RSA 2048", "commands.signing_keys, callback", 1]);
  assert.equal((await lazaret(["signing-keys", "public", "--all"], more)).out.match(/BEGIN PUBLIC KEY/g)?.length, 2);
  await using receiver = await callbackReceiver(answering(204));
  assert.equal((await lazaret(["trigger", "infected", "--to", receiver.origin], more)).out, "204\n");
  assert.equal(receiver.requests.length, 1);

  const buckets = bucketsIn(folder.path);
  for (const name of ["a", "b", "c"]) buckets.put("uploads", name, name === "b" ? eicar() : name);
  const guarding = { ...more, ...(await anyEngineInEnvironment()), LAZARET_BUCKETS_DIR: folder.path };
  const guard = await lazaret(["guard", "uploads"], guarding);
  assert.equal(guard.code, 1, guard.err);
  assert.match(guard.err, /^3 scanned/m);
  // What an interrupted run on another machine would have left.
  const process = await openJobStore(options);
  await postgresBookmarks(process)
    .of("uploads", {})
    .write({ key: "b", startedAt: Date.now() + 60_000 });
  await process.close();
  assert.match((await lazaret(["guard", "uploads"], guarding)).err, /^1 scanned/m);
  assert.deepEqual(await sql("SELECT FROM commands.bookmarks"), []);
});

test("doctor tells what the database is like, and of a wrong key or an empty one; nothing shows the password", async () => {
  const { url } = await sharedPostgres();
  const password = "hidden-password";
  const withPassword = url.replace("lazaret@", `lazaret:${password}@`);
  const more = { LAZARET_POSTGRES_URL: withPassword, LAZARET_POSTGRES_SCHEMA: "doctor", LAZARET_CLAMD: "none" };
  const checks = async (env: Record<string, string>): Promise<{ checks: Check[]; all: string }> => {
    const { out, err } = await lazaret(["doctor", "--json"], env);
    return { checks: JSON.parse(out), all: `${out}${err}` };
  };
  const empty = await checks(more);
  assert.match(empty.checks.find(({ name }) => name === "schema")?.detail ?? "", /not made yet, 0001-tables\.sql/);
  assert.equal((await lazaret(["migrate"], more)).code, 0);
  const store = await openJobStore({
    url,
    pool: 1,
    schema: "doctor",
    migrate: false,
    secretKey: Buffer.alloc(32, 0x5e),
  });
  await store.queue.add(sampleJob());
  await store.close();

  const found = await checks(more);
  const levels = Object.fromEntries(found.checks.map(({ name, level }) => [name, level]));
  // A busy machine answers slowly, which is a warning.
  assert.notEqual(levels.database, "fail");
  assert.equal(levels.schema, "ok");
  assert.equal(levels["wake-ups"], "ok");
  assert.equal(levels.tables, "ok");
  // The server of the tests spares the disk.
  assert.match(found.all, /fsync is off: a crash of the server loses jobs/);
  const wrong = await checks({ ...more, LAZARET_SECRET_KEY: "ab".repeat(32) });
  assert.match(wrong.all, /sealed with another key/);
  const away = await checks({ ...more, LAZARET_POSTGRES_URL: `postgresql://me:${password}@127.0.0.1:1/x` });
  assert.match(away.all, /"fail"[\s\S]*cannot be reached/);
  const config = await lazaret(["config"], more);
  assert.match(config.out, /LAZARET_POSTGRES_URL=\(1 set, hidden\)/);
  for (const { all } of [empty, found, wrong, away, { all: config.out }]) assert.doesNotMatch(all, /hidden-password/);
});
