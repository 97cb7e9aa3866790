import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { adminKey, codeOf, login, visit } from "../support/console.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { runCli } from "../support/run-cli.ts";

const env = { ...(await anyEngineInEnvironment()), LAZARET_PORT: "0", LAZARET_DRAIN_SECONDS: "0" };
const LINK = /^ {2}(http:\/\/127\.0\.0\.1:\d+)\/console\/#\/login\?link=([\w-]{32})$/m;

test("dev shows one link, which logs in once; it and the key are in no log", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["dev"], { cwd: folder.path, env });
  const [, url = "", token = ""] = await run.says(LINK);
  await run.says(/Stop: Ctrl-C/);
  assert.equal(run.stdout.split("?link=").length, 2, "one link");
  assert.equal(await codeOf(await login(url, { link: `${token}x` })), "401 wrong_link");
  const response = await login(url, { link: token });
  const { who, role } = (await response.json()) as Record<string, string>;
  assert.deepEqual([response.status, who, role], [200, "admin-1", "admin"]);
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  assert.equal((await fetch(`${url}/admin/v1/session`, { headers: { Cookie: cookie } })).status, 200);
  assert.equal(await codeOf(await login(url, { link: token })), "401 wrong_link");

  const path = join(folder.path, "data/dev-admin-key");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const key = readFileSync(path, "utf8").trim();
  await visit(url, key);
  assert.equal(await run.stop(), 0);
  assert.ok(!`${run.stdout}${run.stderr}`.includes(key), "the key is shown");
  assert.ok(!run.stderr.includes(token), "the token is in the log");
});

test("dev without a console shows no link and makes no key for it", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["dev", "--console", "off"], { cwd: folder.path, env });
  await run.says(/Stop: Ctrl-C/);
  assert.doesNotMatch(run.stdout, /console/);
  assert.equal(existsSync(join(folder.path, "data/dev-admin-key")), false);
  assert.equal(await run.stop(), 0);
});

test("keys of the console are read again from their file", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "admin-keys");
  writeFileSync(path, `${adminKey}\n`);
  const withFile = { ...env, LAZARET_HOST: "127.0.0.1", LAZARET_API_KEYS: "key-of-the-programs" };
  await using run = runCli(["serve"], { cwd: folder.path, env: { ...withFile, LAZARET_ADMIN_KEYS_FILE: path } });
  const [, port = ""] = await run.says(/"event":"listening".*?"port":(\d+)/);
  const url = `http://127.0.0.1:${port}`;
  const { call } = await visit(url, adminKey);
  writeFileSync(path, "another-key-of-the-tests\n");
  run.child.kill("SIGHUP");
  await run.says(/"event":"reloaded"/);
  assert.equal((await call("/admin/v1/session")).status, 401);
  await visit(url, "another-key-of-the-tests");
  assert.equal(await run.stop(), 0);
});
