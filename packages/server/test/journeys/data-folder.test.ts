import assert from "node:assert/strict";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anyEngine, anyEngineInEnvironment } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { insideOf, runCli } from "../support/run-cli.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

type Call = (path: string, init?: RequestInit) => Promise<Response>;

/** A job that nobody works off: what counts is whether it is accepted. */
const submit = (call: Call, traceId: string): Promise<Response> =>
  call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      download_url: "https://example.com/file",
      trace_id: traceId,
      custom_data: "x".repeat(16_000),
    }),
  });
const codeOf = async (response: Response): Promise<unknown> => ((await response.json()) as { code: string }).code;

const settings = { ...(await anyEngine()), role: "api" } as const;

async function refuses(service: TestService): Promise<void> {
  const refused = await submit(service.call, "lost");
  assert.deepEqual([refused.status, await codeOf(refused)], [503, "queue_unavailable"]);
  await until("it is not ready", async () => (await service.call("/readyz")).status === 503);
  assert.match(
    await (await service.call("/readyz?verbose")).text(),
    /(was removed or replaced|cannot be seen any more \(.*\)) while lazaret runs; put it/,
  );
}

test("with its database moved away the service accepts nothing and is not ready; put back, it goes on by itself", async () => {
  using folder = temporaryFolder();
  const here = join(folder.path, "data");
  const away = join(folder.path, "away");
  await using service = await testService({ ...settings, dataDir: here });
  assert.equal((await submit(service.call, "first")).status, 201);
  for (const file of ["jobs.db", "jobs.db-wal"]) {
    renameSync(join(here, file), away);
    await refuses(service);
    renameSync(away, join(here, file));
    assert.equal((await submit(service.call, file)).status, 201);
    await until("it is ready", async () => (await service.call("/readyz")).status === 204);
  }
  // A copy of each in its place, one after the other.
  for (const file of ["jobs.db-wal", "jobs.db"]) {
    const [place, copy] = [join(here, file), join(here, "copy")];
    copyFileSync(place, copy);
    renameSync(place, away);
    renameSync(copy, place);
    await refuses(service);
    renameSync(away, place);
    assert.equal((await submit(service.call, `again ${file}`)).status, 201);
  }
});

test("a data folder that is moved while a link leads to it is where it was, and one that the link does not lead to any more is not", async () => {
  using folder = temporaryFolder();
  const [first, second, link] = ["first", "second", "data"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(first);
  symlinkSync(first, link);
  await using service = await testService({ ...settings, dataDir: link });
  assert.equal((await submit(service.call, "first")).status, 201);
  renameSync(first, second);
  assert.equal((await submit(service.call, "lost")).status, 503);
  rmSync(link);
  symlinkSync(second, link);
  assert.equal((await submit(service.call, "second")).status, 201);
  mkdirSync(first);
  for (const name of readdirSync(second)) copyFileSync(join(second, name), join(first, name));
  rmSync(link);
  symlinkSync(first, link);
  await refuses(service);
});

test("a data folder that cannot be looked into is as good as gone", async () => {
  using folder = temporaryFolder();
  const [here, away] = [join(folder.path, "data"), join(folder.path, "away")];
  await using service = await testService({ ...settings, dataDir: here });
  assert.equal((await submit(service.call, "first")).status, 201);
  renameSync(here, away);
  // A link that leads to itself: an error other than that there is nothing, for whoever looks.
  symlinkSync(here, here);
  const refused = await submit(service.call, "lost");
  assert.deepEqual([refused.status, await codeOf(refused)], [503, "queue_unavailable"]);
  rmSync(here);
  renameSync(away, here);
  assert.equal((await submit(service.call, "second")).status, 201);
});

test("where the database is a link, its log of changes is looked for beside the file that it leads to", async () => {
  using folder = temporaryFolder();
  const [here, real] = [join(folder.path, "data"), join(folder.path, "real")];
  for (const path of [here, real]) mkdirSync(path);
  writeFileSync(join(real, "jobs.db"), "");
  symlinkSync(join(real, "jobs.db"), join(here, "jobs.db"));
  await using service = await testService({ ...settings, dataDir: here });
  assert.equal((await submit(service.call, "first")).status, 201);
  rmSync(join(real, "jobs.db-wal"));
  await refuses(service);
});

test("a data folder with a key and no database is refused at the start, and what to do is said", async () => {
  using folder = temporaryFolder();
  const dataDir = folder.path;
  {
    await using service = await testService({ ...settings, dataDir });
    assert.equal((await submit(service.call, "first")).status, 201);
    for (const name of readdirSync(dataDir)) if (name.startsWith("jobs.db")) rmSync(join(dataDir, name));
    await refuses(service);
  }
  await assert.rejects(testService({ ...settings, dataDir }), (error: Error & { hint: string }) => {
    assert.match(
      error.message,
      /^there is .*secret\.key, and .*jobs\.db is missing: jobs that were accepted are in it$/,
    );
    assert.match(error.hint, /^put jobs\.db back, or make an empty one to start with no jobs: touch /);
    return true;
  });
  writeFileSync(join(dataDir, "jobs.db"), "");
  await using again = await testService({ ...settings, dataDir });
  assert.equal((await submit(again.call, "second")).status, 201);
});

test("with its disk full the service is not ready, and is again by itself when there is room", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  mkdirSync(dataDir);
  await using run = runCli(["serve"], {
    cwd: folder.path,
    disk: { path: dataDir, bytes: 4 * 1024 * 1024 },
    env: {
      LAZARET_API_KEYS: testKey,
      ...(await anyEngineInEnvironment()),
      LAZARET_DRAIN_SECONDS: "0",
      LAZARET_ROLE: "api",
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: "0",
      LAZARET_DATA_DIR: dataDir,
    },
  });
  const [, port] = await run.says(/"event":"listening".*"port":(\d+)/);
  const call: Call = (path, init = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${testKey}`, ...init.headers },
    });
  assert.equal((await call("/readyz")).status, 204);
  const filler = join(insideOf(run, dataDir), "filler");
  const { bavail, bsize } = statfsSync(insideOf(run, dataDir));
  writeFileSync(filler, Buffer.alloc(bavail * bsize));
  await until("it is not ready", async () => (await call("/readyz")).status === 503);
  assert.match(await (await call("/readyz?verbose")).text(), /the disk is full; free some space/);
  // What is free inside the database's own files takes a few.
  let accepted = 0;
  while ((await submit(call, `full-${accepted}`)).status === 201) accepted += 1;
  assert.ok(accepted < 1000);
  rmSync(filler);
  await until("it is ready", async () => (await call("/readyz")).status === 204);
  assert.equal((await submit(call, "room")).status, 201);
  run.child.kill("SIGTERM");
  assert.equal(await run.ended(), 0);
});
