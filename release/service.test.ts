import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { eicar } from "../packages/server/test/support/eicar.ts";
import { atTheEnd, temporaryFolder, watchChild } from "../packages/server/test/support/leftovers.ts";
import { until } from "../packages/server/test/support/until.ts";
import { problemsOf } from "./checks.ts";
import { pack } from "./pack.ts";
import { filesIn, root, run } from "./project.ts";
import { stageService } from "./service-package.ts";

// The package of the service: built, packed, unpacked where nothing of the project is, and run. Other versions of Node, npx, global
// installs and other runtimes: npm run try-packages.
const folder = temporaryFolder();
const app = join(folder.path, "app");
/** The first line of the program asks for node. */
const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
const installed = join(app, "node_modules/lazaret");
let tarball: string;
atTheEnd(() => folder[Symbol.dispose]());

before(() => {
  stageService(join(folder.path, "lazaret"), "0.1.0-test");
  tarball = pack(join(folder.path, "lazaret"), folder.path);
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"]);
  // As npm would, without its 10 seconds: what the manifest asks for, and nothing else of the project.
  const { dependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(app, "node_modules", name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(app, "node_modules", name));
  }
});

test("the packed service has nothing that publint or arethetypeswrong would change", async () => {
  assert.deepEqual(await problemsOf(tarball), []);
});

test("the packed service has no sources, tests or test keys, and does not tell where it was built", () => {
  const names = filesIn(installed);
  assert.ok(names.length > 1000, `${names.length} files`);
  assert.deepEqual(
    names.filter((name) => /(?<!\.d)\.ts$|\.test\.|\/test\//.test(name)),
    [],
  );
  for (const name of names.filter((each) => !each.endsWith(".woff2"))) {
    const text = readFileSync(name, "utf8");
    assert.ok(!text.includes(root) && !text.includes(folder.path), `${name} tells where it was built`);
    assert.doesNotMatch(text, /PRIVATE KEY-----\n[A-Za-z0-9+/]/, name);
  }
  const map = JSON.parse(readFileSync(join(installed, "packages/server/src/app.js.map"), "utf8"));
  assert.deepEqual([map.sources, map.sourcesContent.length], [["app.ts"], 1]);
});

test("the packed service starts, shows its console and reference, and finds a test file in a queued job and an upload", async () => {
  await using service = await startDev();
  const { url, key } = service;
  for (const path of ["/console/", "/docs", "/openapi.json"]) assert.equal((await ask(url + path)).status, 200, path);
  assert.equal(JSON.parse((await ask(`${url}/version`)).text).version, "0.1.0-test");

  const env = { LAZARET_URL: url, LAZARET_API_KEY: key };
  const scanned = await ended(spawn(program, ["scan", "--json", "-"], { cwd: app, env: { PATH, ...env } }), eicar());
  assert.deepEqual([scanned.code, JSON.parse(scanned.stdout).finding], [1, "EICAR_Test_File"]);

  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ download_url: `${url}/docs`, trace_id: "packed" });
  assert.equal((await ask(`${url}/api/v1/scan/async/download`, { method: "POST", headers, body })).status, 201);
  const poll = (): ReturnType<typeof ask> => ask(`${url}/api/v1/scan/async/result?trace_id=packed`, { headers });
  await until("the job is done", async () => (await poll()).status === 200, { limitMs: 60_000 });
  assert.equal(JSON.parse((await poll()).text).status, "clean");
});

/** Reads the answer to its end, so that no connection stays. */
async function ask(url: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { ...init, headers: { ...init.headers, Connection: "close" } });
  return { status: answer.status, text: await answer.text() };
}

test("a program can run the packed service inside itself, by require() and by import", async () => {
  const use = `
    const lazaret = require("lazaret");
    const flags = { port: "0", host: "127.0.0.1", clamd: "none", apiKeys: "not-a-key-that-counts", dataDir: process.argv[1] };
    const { settings } = lazaret.readSettings({ flags, env: {}, file: {} });
    const log = lazaret.log({ level: "silent", format: "json", write() {} });
    lazaret.startService(settings, log).then(async (service) => {
      const { status } = await fetch("http://127.0.0.1:" + service.port + "/healthz");
      await service.stop();
      console.log(lazaret.version, status, (await import("lazaret")).startService === lazaret.startService);
    });`;
  const args = ["--input-type=commonjs", "--eval", use, join(folder.path, "data")];
  const { stdout, stderr } = await ended(spawn(process.execPath, args, { cwd: app, env: { PATH } }));
  assert.equal(stdout, "0.1.0-test 204 true\n", stderr);
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function ended(child: ReturnType<typeof spawn>, input: string | Buffer = ""): Promise<Ended> {
  watchChild(child.pid ?? 0);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (part) => (stdout += part));
  child.stderr?.setEncoding("utf8").on("data", (part) => (stderr += part));
  child.stdin?.end(input);
  const [code] = await once(child, "close");
  return { code, stdout, stderr };
}

const program = join(installed, "packages/server/bin/lazaret.mjs");

/** `lazaret dev` of the package, in its folder. */
async function startDev(): Promise<{ url: string; key: string } & AsyncDisposable> {
  const settings = { LAZARET_PORT: "0", LAZARET_CLAMD: "none", LAZARET_DRAIN_SECONDS: "0" };
  const child = spawn(program, ["dev"], { cwd: app, env: { PATH, ...settings } });
  const end = ended(child);
  let said = "";
  child.stdout.on("data", (part) => (said += part));
  await until("it is ready, or has ended", () => /is ready at/.test(said) || child.exitCode !== null, {
    limitMs: 60_000,
  });
  const [, url] = /is ready at (\S+)/.exec(said) ?? assert.fail((await end).stderr);
  return {
    url: url ?? "",
    key: readFileSync(join(app, "data/dev-key"), "utf8").trim(),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      assert.equal((await end).code, 0);
    },
  };
}
