import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder, watchChild } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { clamdBinary, ownClamd } from "./own-clamd.ts";

const signaturesDir = fileURLToPath(new URL("../../../signatures", import.meta.url));
const recommended = readFileSync(new URL("../../../../../deploy/clamd.conf", import.meta.url), "utf8");

/** A process that ended, but that its new parent has not noticed yet, does not run any more. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("starts with the recommended configuration, in its own folder, and stops", async () => {
  using folder = temporaryFolder();
  const clamd = await ownClamd({ folder: folder.path, signaturesDir, config: { MaxThreads: "2" } });
  watchChild(clamd.pid);
  assert.equal(runs(clamd.pid), true);
  assert.equal(clamd.socketPath, join(folder.path, "clamd.sock"));
  const config = readFileSync(join(folder.path, "clamd.conf"), "utf8").split("\n");
  assert.ok(config.includes("AlertExceedsMax yes"));
  assert.ok(config.includes("MaxThreads 2"));
  assert.deepEqual(
    config.filter((line) => /^(User|TCPSocket|LogFile|MaxThreads 32)/.test(line)),
    [],
  );
  await clamd.stop();
  await clamd.stop();
  assert.equal(runs(clamd.pid), false);
});

test("tells in clamd's own words why it does not start", async () => {
  using folder = temporaryFolder();
  await assert.rejects(
    ownClamd({ folder: folder.path, signaturesDir, config: { MaxBananas: "yes" } }),
    /cannot start clamd .*Unknown option MaxBananas.*hint: run .*clamd --config-file=/s,
  );
  await assert.rejects(ownClamd({ folder: folder.path, signaturesDir: folder.path }), /cannot start clamd/);
});

test("gives up when asked to, and leaves no process", async () => {
  using folder = temporaryFolder();
  await assert.rejects(
    ownClamd({ folder: folder.path, signaturesDir }, AbortSignal.abort(new Error("no longer wanted"))),
    (error: Error) => (error.cause as Error).message === "no longer wanted",
  );
});

test("ends with the process that started it, even when that one is killed", async () => {
  using folder = temporaryFolder();
  const script = `
    import { ownClamd } from ${JSON.stringify(import.meta.resolve("./own-clamd.ts"))};
    const clamd = await ownClamd(${JSON.stringify({ folder: folder.path, signaturesDir })});
    process.stdout.write(String(clamd.pid));
    setInterval(() => {}, 1000);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [pid] = (await once(parent.stdout, "data")).map(Number);
  assert.ok(pid && runs(pid));
  const exited = once(parent, "exit");
  parent.kill("SIGKILL");
  await exited;
  await until("clamd is gone", () => !runs(pid));
});

test("a process that does nothing else waits for the end of a clamd that hangs", async () => {
  using folder = temporaryFolder();
  const script = `
    import { ownClamd } from ${JSON.stringify(import.meta.resolve("./own-clamd.ts"))};
    const clamd = await ownClamd(${JSON.stringify({ folder: folder.path, signaturesDir })});
    process.kill(clamd.pid, "SIGSTOP");
    await clamd.stop(1);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("sweeps what a clamd that was killed left in its temporary folder, and tells where that is", async () => {
  using folder = temporaryFolder();
  const left = join(folder.path, "tmp", "20261115_121213-scantemp.9f98034ae9");
  mkdirSync(left, { recursive: true });
  await using clamd = await ownClamd({ folder: folder.path, signaturesDir });
  watchChild(clamd.pid);
  assert.equal(clamd.temporaryDir, join(folder.path, "tmp"));
  assert.deepEqual(readdirSync(clamd.temporaryDir), []);
});

test("finds clamd on this machine", () => {
  assert.match(clamdBinary() ?? "", /\/clamd$/);
});

test("every line of the recommended configuration has its reason in front of it, and nothing behind", () => {
  const lines = recommended.split("\n");
  const settings = lines.flatMap((line, index) => (line === "" || line.startsWith("#") ? [] : [{ line, index }]));
  assert.ok(settings.length > 15);
  for (const { line, index } of settings) {
    assert.match(line, /^\w+ \S+$/);
    assert.match(lines[index - 1] ?? "", /^# /, line);
  }
});
