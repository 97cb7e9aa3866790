import assert from "node:assert/strict";
import { closeSync, fstatSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { testKey } from "../support/service.ts";

const JOBS = 80;
const SAID =
  /"level":"error","event":"database","error":"the job database's log of changes was damaged: jobs and results/;
// No worker takes the jobs.
const env = {
  ...(await anyEngineInEnvironment()),
  LAZARET_HOST: "127.0.0.1",
  LAZARET_PORT: "0",
  LAZARET_ROLE: "api",
  LAZARET_API_KEYS: testKey,
  LAZARET_DRAIN_SECONDS: "0",
};

async function served(cwd: string): Promise<{ run: CliRun; url: string }> {
  const run = runCli(["serve"], { cwd, env });
  const [, port = ""] = await run.says(/"event":"listening".*?"port":(\d+)/);
  return { run, url: `http://127.0.0.1:${port}` };
}

/** Every one is acknowledged when this returns, and the service was killed right after. */
async function submittedAndKilled(cwd: string): Promise<void> {
  const { run, url } = await served(cwd);
  await using _ = run;
  for (let number = 0; number < JOBS; number += 1) {
    const response = await fetch(`${url}/api/v1/scan/async/download`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${testKey}` },
      body: JSON.stringify({ download_url: "https://example.com/file", trace_id: `job-${number}` }),
    });
    assert.equal(response.status, 201);
  }
  await run.stop("SIGKILL");
}

async function cli(args: readonly string[], cwd: string): Promise<string> {
  await using run = runCli(args, { cwd, env });
  await run.ended();
  return `${run.stdout}${run.stderr}`;
}

const jobsIn = async (cwd: string): Promise<number> =>
  (await cli(["jobs", "list", "--limit", "200", "--json"], cwd)).match(/job-\d+"/g)?.length ?? 0;

test("junk in the middle of the log of changes is said at the start and by doctor, until the copy is deleted", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await submittedAndKilled(folder.path);
  const log = openSync(join(dataDir, "jobs.db-wal"), "r+");
  writeSync(log, Buffer.alloc(100, 0xa5), 0, 100, Math.floor(fstatSync(log).size / 2));
  closeSync(log);

  for (const start of ["first", "second"]) {
    const { run } = await served(folder.path);
    await using _ = run;
    assert.match(run.stdout, SAID, start);
    await run.stop();
  }
  const found = await jobsIn(folder.path);
  assert.ok(found > 0 && found < JOBS, `${found} jobs`);
  const copies = readdirSync(dataDir).filter((name) => name.startsWith("jobs.db-wal.damaged-"));
  assert.equal(copies.length, 1);
  assert.match(await cli(["doctor"], folder.path), /log of changes was damaged[\s\S]*delete the copy/);

  rmSync(join(dataDir, copies[0] ?? ""));
  const { run } = await served(folder.path);
  await using _ = run;
  assert.doesNotMatch(run.stdout, SAID);
  await run.stop();
});

test("a service that was killed finds every job it had acknowledged, and calls nothing damaged", async () => {
  using folder = temporaryFolder();
  await submittedAndKilled(folder.path);
  const { run } = await served(folder.path);
  await using _ = run;
  assert.doesNotMatch(run.stdout, SAID);
  assert.equal(await jobsIn(folder.path), JOBS);
  await run.stop();
});
