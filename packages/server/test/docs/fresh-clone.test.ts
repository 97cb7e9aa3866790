import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";
import { until } from "../support/until.ts";
import { root } from "./place.ts";

/** Everything of the repository that a clone would have, and nothing that was installed. */
function fresh(folder: string): void {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
  }).toString();
  for (const name of listed.split("\n").filter((each) => each !== "" && existsSync(join(root, each)))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(root, name), join(folder, name), { verbatimSymlinks: true });
  }
}

/** As in a stranger's shell: the machine's own Node and npm. What `npm test` has installed is taken from npm's cache. */
function strangersEnv(more: Record<string, string> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:LAZARET_|npm_|NODE_|INIT_CWD$)/i.test(name));
  const paths = (process.env.PATH ?? "").split(delimiter).filter((path) => !path.includes("node_modules"));
  return {
    ...Object.fromEntries(kept),
    PATH: paths.join(delimiter),
    npm_config_prefer_offline: "true",
    ...more,
  } as never;
}

test("the README's way to run it for real works from a fresh clone", async () => {
  using folder = temporaryFolder();
  fresh(folder.path);
  const section = /## Run it for real\n[\s\S]*?```console\n([\s\S]*?)```/.exec(
    readFileSync(join(root, "README.md"), "utf8"),
  );
  const commands = [...(section?.[1] ?? "").matchAll(/^\$ (.*)$/gm)].map(([, command = ""]) => command);
  assert.ok(commands.at(-1)?.endsWith("npx lazaret serve"), `it ends with ${commands.at(-1)}`);
  const settings = { LAZARET_HOST: "127.0.0.1", LAZARET_PORT: "0", LAZARET_CLAMD: "none" };
  const child = spawn("sh", ["-c", commands.join(" && ")], {
    cwd: folder.path,
    env: strangersEnv(settings),
    // A group of its own: npx has a shell between itself and the service.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pid = child.pid ?? assert.fail("sh did not start");
  watchChild(pid);
  const exit = once(child, "exit");
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (said += part));
  try {
    const ended = (): boolean => child.exitCode !== null;
    await until("it listens, or has ended", () => /"event":"listening"/.test(said) || ended(), { limitMs: 150_000 });
    const [, port] = /"event":"listening".*"port":(\d+)/.exec(said) ?? assert.fail(said);
    const key = readFileSync(join(folder.path, "data/api-keys"), "utf8").trim();
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" };
    const sent = { method: "POST", headers, body: "hello" };
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/scan/sync/binary`, sent);
    assert.equal(((await answer.json()) as { status: string }).status, "clean");
  } finally {
    if (groupIsThere(pid)) process.kill(-pid, "SIGTERM");
    await exit;
    // The shell ends before the service does.
    await until("the service has ended", () => !groupIsThere(pid), { limitMs: 40_000 });
  }
});

for (const place of [".", "deploy/cdk"]) {
  test(`a plain npm install leaves the lock file of ${place} as it is`, async () => {
    using folder = temporaryFolder();
    const manifests = ["package.json", "package-lock.json", ".npmrc"];
    const packages = ["contract", "client", "console", "server"].map((name) => `packages/${name}/package.json`);
    for (const name of [...manifests, ...(place === "." ? packages : [])]) {
      cpSync(join(root, place, name), join(folder.path, name));
    }
    const args = ["install", "--package-lock-only", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
    await promisify(execFile)("npm", args, { cwd: folder.path, env: strangersEnv() });
    const lock = readFileSync(join(root, place, "package-lock.json"), "utf8");
    assert.equal(readFileSync(join(folder.path, "package-lock.json"), "utf8"), lock);
    // npm 11 writes these and keeps a file without them as it is; npm 10, which comes with Node 20, takes them out.
    assert.doesNotMatch(lock, /"libc"/);
  });
}

test("a script that needs only the server leaves the development packages of a clone where they are", async () => {
  using folder = temporaryFolder();
  const clone = join(folder.path, "clone");
  for (const name of ["scripts/setup.mjs", "package.json", "package-lock.json"]) {
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    cpSync(join(root, name), join(clone, name));
  }
  // Stands for npm: writes down what it was asked for, and brings the Node that a set-up must have.
  const npm = join(folder.path, "npm.mjs");
  const asked = join(folder.path, "asked");
  writeFileSync(
    npm,
    `import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
    appendFileSync(${JSON.stringify(asked)}, process.argv.slice(2).join(" ") + "\\n");
    mkdirSync("node_modules/node/bin", { recursive: true });
    writeFileSync("node_modules/node/bin/node", "");`,
  );
  const setUp = async (scope: "run" | "all"): Promise<string | undefined> => {
    writeFileSync(asked, "");
    const script = `import { installPackages } from "./scripts/setup.mjs"; installPackages("${scope}");`;
    const env = strangersEnv({ npm_execpath: npm });
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd: clone, env });
    return readFileSync(asked, "utf8").split("\n")[0] || undefined;
  };
  assert.match((await setUp("run")) ?? "", /^ci .*--omit=dev/);
  assert.equal(await setUp("run"), undefined);
  // As a plain npm ci leaves it, with no stamp of ours.
  rmSync(join(clone, "node_modules"), { recursive: true });
  mkdirSync(join(clone, "node_modules/typescript"), { recursive: true });
  assert.doesNotMatch((await setUp("run")) ?? assert.fail("nothing was installed"), /--omit/);
  assert.equal(await setUp("run"), undefined);
  assert.equal(await setUp("all"), undefined);
});

test("packages are not installed under a server that runs from the same clone: which one is said, and what to do", async () => {
  using folder = temporaryFolder();
  for (const name of ["scripts/setup.mjs", "package.json", "package-lock.json"]) {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true });
    cpSync(join(root, name), join(folder.path, name));
  }
  const node = join(folder.path, "node_modules/node/bin/node");
  mkdirSync(dirname(node), { recursive: true });
  cpSync(process.execPath, node);
  const npm = join(folder.path, "npm.mjs");
  const ran = join(folder.path, "ran");
  writeFileSync(npm, `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(ran)}, "");`);
  const setUp = async (): Promise<{ stderr: string }> => {
    const script = `import { installPackages } from "./scripts/setup.mjs"; installPackages("run");`;
    const env = strangersEnv({ npm_execpath: npm });
    // By the clone's own Node, as npm is where that comes first in the path.
    return await promisify(execFile)(node, ["--input-type=module", "-e", script], { cwd: folder.path, env });
  };
  const server = spawn(node, ["-e", "process.stdin.resume()", "lazaret", "dev"], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  const pid = server.pid ?? assert.fail("it did not start");
  watchChild(pid);
  const ended = once(server, "exit");
  try {
    await assert.rejects(setUp(), ({ code, stderr }: { code: number; stderr: string }) => {
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(`process ${pid} runs from this clone: .*lazaret dev\nhint: stop it \\(kill ${pid}\\)`),
      );
      return true;
    });
    assert.ok(!existsSync(ran), "npm ran");
  } finally {
    server.stdin?.end();
    await ended;
  }
  await setUp();
  assert.ok(existsSync(ran));
});

function groupIsThere(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
