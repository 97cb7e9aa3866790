import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clamdChecks } from "../../src/cli/doctor/clamd-checks.ts";
import { signatureReport } from "../../src/cli/signatures/signature-report.ts";
import { readKeeperState } from "../../src/engines/clamd/keeper/keeper-state.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { eicar } from "../support/eicar.ts";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";
import { runCli } from "../support/run-cli.ts";
import { dailyDatabase, eicarSignature } from "../support/signatures.ts";
import { until } from "../support/until.ts";

const key = "production-key-canary";
const news = Buffer.from("a line that only new signatures know\n");

test("serve keeps one clamd for all its processes, goes over to new signatures, and leaves none when it is killed", async () => {
  using folder = temporaryFolder();
  const [dataDir, signaturesDir] = [join(folder.path, "data"), join(folder.path, "signatures")];
  mkdirSync(signaturesDir);
  const put = (version: number, signatures: string): void => {
    const draft = join(folder.path, "draft");
    writeFileSync(draft, dailyDatabase({ version, builtAt: Date.now() - 3_600_000, signatures }));
    renameSync(draft, join(signaturesDir, "daily.cud"));
  };
  put(1, eicarSignature);
  const flags = { engine: "Q", clamd: "own", dataDir, signaturesDir };
  const read = readSettings({ flags, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  const { settings } = read;
  const names = async (): Promise<string[]> =>
    (await clamdChecks({ settings, now: Date.now() })).map(({ level, name }) => `${level} ${name}`);
  assert.deepEqual(await names(), ["warn own clamd"]);

  await using run = runCli(["serve"], {
    cwd: folder.path,
    env: {
      LAZARET_API_KEYS: key,
      LAZARET_ENGINE: "Q",
      LAZARET_CLAMD: "own",
      LAZARET_SIGNATURES_DIR: signaturesDir,
      LAZARET_SIGNATURES_OLD: "unready",
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: "0",
      LAZARET_DRAIN_SECONDS: "0",
    },
  });
  const [, port] = await run.says(/"event":"listening".*"port":(\d+)/);
  const url = `http://127.0.0.1:${port}`;
  const statusOf = async (bytes: Uint8Array): Promise<unknown> => {
    const response = await fetch(`${url}/api/v1/scan/sync/binary`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream", Connection: "close" },
      body: Buffer.from(bytes),
    });
    return response.status === 200 ? ((await response.json()) as { status: string }).status : response.status;
  };
  const limitMs = 60_000;
  await until("it is ready", async () => (await fetch(`${url}/readyz`)).status === 204, { limitMs });
  assert.equal(await statusOf(eicar()), "infected");
  assert.equal(await statusOf(news), "clean");

  const started = (): RegExpStringIterator<RegExpExecArray> =>
    run.stdout.matchAll(/"event":"clamd","state":"started","pid":(\d+)/g);
  assert.equal([...started()].length, 1);
  assert.ok(!(await names()).some((name) => name.startsWith("fail")), String(await names()));

  put(2, `${eicarSignature}News:0:*:${news.toString("hex")}\n`);
  await run.says(/"state":"started".*daily\.cud 2/);
  assert.equal(await statusOf(news), "infected");
  const report = await signatureReport(settings, { now: Date.now(), maxAgeDays: 7 });
  assert.deepEqual(
    [report.state, report.databases.map(({ name, version, loaded }) => [name, version, loaded])],
    ["young", [["daily.cud", "2", true]]],
  );

  const pids = [...started()].map(([, pid]) => Number(pid));
  assert.equal(pids.length, 2);
  assert.equal(readKeeperState(join(dataDir, "clamd"))?.pid, pids[1]);
  for (const pid of pids) watchChild(pid);
  run.child.kill("SIGKILL");
  await until("no clamd is left", () => pids.every((pid) => !runs(pid)));
});

/** A process that ended, but that its new parent has not noticed yet, does not run any more. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
