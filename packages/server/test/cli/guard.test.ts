import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Buckets, bucketsIn, jsonLines } from "../support/buckets.ts";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const env = { LAZARET_CLAMD: "none", LAZARET_SUBSCRIPTIONS: '[{"protocol":"file","endpoint":"findings.jsonl"}]' };
/** Where it does not matter who scans. */
const anyEnv = { ...env, ...(await anyEngineInEnvironment()) };

function uploads(folder: string): Buckets {
  const buckets = bucketsIn(join(folder, "data/buckets"));
  buckets.put("uploads", "2025/old.txt", "old");
  buckets.put("uploads", "2026/bad.txt", eicar());
  buckets.put("uploads", "2026/good.txt", "a good file");
  return buckets;
}

test("guard scans what is in a bucket: lines for what is not clean, tags, findings, exit code 1", async () => {
  using folder = temporaryFolder();
  const buckets = uploads(folder.path);
  const run = await cliOutcome(["guard", "uploads"], { cwd: folder.path, env });
  assert.equal(run.code, 1, run.err);
  assert.equal(run.out, "infected  uploads/2026/bad.txt  EICAR_Test_File  (tag)\n");
  assert.match(run.err, /^3 scanned \(82 B\): 2 clean, 1 infected, 0 not scanned, (?:\d+m )?\d+s\n$/);
  assert.deepEqual(await buckets.tagsOf("uploads", "2026/bad.txt"), { scanner: "infected" });
  assert.deepEqual(await buckets.tagsOf("uploads", "2025/old.txt"), { scanner: "clean" });
  const told = jsonLines(join(folder.path, "data/findings.jsonl")).map(({ key, status }) => [key, status]);
  assert.deepEqual(told.toSorted(), [
    ["2025/old.txt", "clean"],
    ["2026/bad.txt", "infected"],
    ["2026/good.txt", "clean"],
  ]);
});

test("guard takes filters, and tells every object with --json", async () => {
  using folder = temporaryFolder();
  uploads(folder.path);
  const filters = ["--prefix", "2026/", "--suffix", ".txt", "--max-size", "50", "--newer-than", "1d"];
  const run = await cliOutcome(["guard", "uploads", ...filters, "--json"], { cwd: folder.path, env });
  assert.equal(run.code, 0, run.err);
  assert.deepEqual(JSON.parse(run.out), {
    bucket: "uploads",
    key: "2026/good.txt",
    size: 11,
    status: "clean",
    action: "tag",
    realfiletype: "ASCII text",
  });
  const none = await cliOutcome(["guard", "uploads", "--newer-than", "2999-01-01"], { cwd: folder.path, env: anyEnv });
  assert.equal(none.code, 0, none.err);
  assert.match(none.err, /^0 scanned/);
});

test("guard goes on with new and changed objects when told to watch, also after SIGHUP, until it is stopped", async () => {
  using folder = temporaryFolder();
  const buckets = uploads(folder.path);
  await using run = runCli(["guard", "uploads", "--watch"], { cwd: folder.path, env: anyEnv });
  await run.says(/2026\/bad\.txt/);
  run.child.kill("SIGHUP");
  buckets.put("uploads", "new/also bad.txt", eicar());
  await run.says(/infected {2}uploads\/new\/also bad\.txt/);
  buckets.put("uploads", "2026/good.txt", `${eicar()}\n`);
  await run.says(/infected {2}uploads\/2026\/good\.txt/);
  await until(
    "the new file is tagged",
    async () => (await buckets.tagsOf("uploads", "new/also bad.txt")).scanner === "infected",
  );
  assert.equal(await run.stop(), 1, run.stderr);
});

test("guard says what is wrong: a bucket that is not there, a size that is none, email with no mail server", async () => {
  using folder = temporaryFolder();
  uploads(folder.path);
  const nowhere = await cliOutcome(["guard", "nowhere"], { cwd: folder.path, env: anyEnv });
  assert.equal(nowhere.code, 78);
  assert.match(nowhere.err, /lazaret: cannot guard nowhere: .*\nhint: check the bucket's name/);
  const size = await cliOutcome(["guard", "uploads", "--max-size", "ten"], { cwd: folder.path, env: anyEnv });
  assert.equal(size.code, 64);
  assert.match(size.err, /It must be a size, such as 4096, 500KB or 10MB/);
  const email = { ...anyEnv, LAZARET_SUBSCRIPTIONS: '[{"protocol":"email","endpoint":"ops@example.com"}]' };
  const mail = await cliOutcome(["guard", "uploads"], { cwd: folder.path, env: email });
  assert.equal(mail.code, 78);
  assert.match(mail.err, /ops@example\.com, and no mail server\nhint: set LAZARET_SMTP_URL/);
});
