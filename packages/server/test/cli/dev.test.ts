import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { runCli } from "../support/run-cli.ts";

/** Where it does not matter who scans; others have the engine that dev chooses. */
const anyEnv = await anyEngineInEnvironment();

/** Runs what the banner offers to paste, in a real shell. */
function paste(lines: string[], cwd: string): unknown {
  return JSON.parse(
    execFileSync("sh", ["-c", lines.join("\n")], { cwd, stdio: ["ignore", "pipe", "ignore"] }).toString(),
  );
}

for (const engine of ["Q"]) {
  test(`dev with engine ${engine} is ready to scan, and the lines of its banner work as they are`, async () => {
    using folder = temporaryFolder();
    const env = { LAZARET_PORT: "0", LAZARET_ENGINE: engine };
    await using run = runCli(["dev"], { cwd: folder.path, env });
    await run.says(/Stop: Ctrl-C/);
    const [exports = "", form = "", printf = ""] = run.stdout.split("\n").flatMap((line) => {
      return /^ {2}(export|curl|printf)/.test(line) ? [line.trim()] : [];
    });
    const scanned = paste([exports, form], folder.path) as { status: string };
    assert.equal(scanned.status, "clean");
    const infected = paste([exports, printf], folder.path) as { status: string; size: number };
    assert.deepEqual([infected.status, infected.size], ["infected", 68]);
    assert.equal(await run.stop("SIGINT"), 0);
  });
}

test("dev keeps its key in the data folder for its owner only, and uses it again", async () => {
  using folder = temporaryFolder();
  const keys: string[] = [];
  const env = { ...anyEnv, LAZARET_PORT: "0", LAZARET_DRAIN_SECONDS: "0" };
  for (const _ of [1, 2]) {
    await using run = runCli(["dev"], { cwd: folder.path, env });
    const [, key = ""] = await run.says(/LAZARET_API_KEY=(\S+)/);
    keys.push(key);
    assert.equal(await run.stop(), 0);
  }
  const path = join(folder.path, "data/dev-key");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(keys, [readFileSync(path, "utf8").trim(), keys[0]]);
});

test("SIGHUP does not end dev, and its key holds", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["dev"], { cwd: folder.path, env: { ...anyEnv, LAZARET_PORT: "0" } });
  const [, url, key] = await run.says(/export LAZARET_URL=(\S+) LAZARET_API_KEY=(\S+)/);
  run.child.kill("SIGHUP");
  await run.says(/ reloaded api_keys=1/);
  const response = await fetch(`${url}/api/v1/test`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(response.status, 204);
  assert.equal(await run.stop(), 0);
});

test("dev listens on loopback only, and takes loopback as a target", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["dev"], { cwd: folder.path, env: { LAZARET_PORT: "0", LAZARET_DRAIN_SECONDS: "0" } });
  const [, url, key] = await run.says(/export LAZARET_URL=(http:\/\/127\.0\.0\.1:\d+) LAZARET_API_KEY=(\S+)/);
  const response = await fetch(`${url}/api/v1/scan/sync/download`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${url}/openapi.json` }),
  });
  assert.equal(((await response.json()) as { status: string }).status, "clean");
  assert.equal(await run.stop(), 0);
});

test("dev accepts every key of LAZARET_API_KEYS, as serve does, shows none of them, and makes none of its own", async () => {
  using folder = temporaryFolder();
  const keys = ["first-configured-key", "second-configured-key"];
  const env = { ...anyEnv, LAZARET_PORT: "0", LAZARET_API_KEYS: keys.join(",") };
  await using run = runCli(["dev"], { cwd: folder.path, env });
  const [, url] = await run.says(/export LAZARET_URL=(http:\/\/127\.0\.0\.1:\d+)/);
  await run.says(/Stop: Ctrl-C/);
  for (const [key, status] of [...keys.map((each) => [each, 204] as const), ["neither-of-the-two", 401] as const]) {
    const response = await fetch(`${url}/api/v1/test`, { headers: { Authorization: `Bearer ${key}` } });
    assert.equal(response.status, status, key);
  }
  for (const key of keys) assert.ok(!`${run.stdout}${run.stderr}`.includes(key), `the banner shows ${key}`);
  assert.match(run.stdout, /LAZARET_API_KEY=YOUR_KEY/);
  assert.equal(existsSync(join(folder.path, "data/dev-key")), false);
  assert.equal(await run.stop(), 0);
});
