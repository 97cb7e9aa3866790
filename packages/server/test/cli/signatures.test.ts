import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { signatureReport } from "../../src/cli/signatures/signature-report.ts";
import { describeAddress } from "../../src/engines/clamd/address.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { clamdProxy } from "../support/clamd-proxy.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome } from "../support/run-cli.ts";
import { testService } from "../support/service.ts";
import { dailyDatabase, eicarSignature } from "../support/signatures.ts";
import { until } from "../support/until.ts";

const DAY_MS = 86_400_000;
const builtAt = Date.now() - 9 * DAY_MS;
const address = (): string => `unix:${clamd.socketPath}`;

/** With signatures of nine days ago. */
let clamd: TestClamd;
before(async () => {
  const daily = dailyDatabase({ version: 27815, builtAt });
  clamd = await testClamd({}, { signatures: { "daily.cud": daily, "own.ndb": eicarSignature } });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());

interface Readiness {
  ready: boolean;
  checks: { name: string; ok: boolean; detail: string }[];
}

function settingsOf(flags: Record<string, string>): Settings {
  const read = readSettings({ flags: { clamd: address(), ...flags }, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  return read.settings;
}

test("old signatures are said in readiness, log and console, and files are scanned all the same", async () => {
  await using service = await testService({ engine: "Q", clamd: address() });
  const response = await service.call("/readyz?verbose");
  const { ready, checks } = (await response.json()) as Readiness;
  assert.deepEqual([response.status, ready], [200, true]);
  const said = checks.find(({ name }) => name === "signatures");
  assert.match(said?.detail ?? "", /^signatures are 9\.0 days old, more than 7/);
  await until("the log says so", () => service.lines.some(({ event }) => event === "signatures"));
  const line = service.lines.find(({ event }) => event === "signatures");
  assert.deepEqual([line?.level, Math.round(Number(line?.age_seconds) / 86_400)], ["error", 9]);
  assert.equal((await service.scan("fine")).status, 200);
});

test("old signatures are not ready where the settings say so, and young ones are", async () => {
  await using strict = await testService({ engine: "Q", clamd: address(), signaturesOld: "unready" });
  assert.equal((await strict.call("/readyz")).status, 503);
  assert.equal((await strict.scan("fine")).status, 200);
  const patient = { signaturesOld: "unready", signaturesMaxAge: 10 } as const;
  await using service = await testService({ engine: "Q", clamd: address(), ...patient });
  assert.equal((await service.call("/readyz")).status, 204);
});

test("lazaret signatures tells version, age and source of each database, and what clamd has loaded of them", async () => {
  const settings = settingsOf({});
  const asked = { now: Date.now(), maxAgeDays: 10 };
  const report = await signatureReport(settings, asked);
  assert.equal(report.state, "young");
  assert.equal(report.clamd?.signatures, "27815");
  const shown = report.databases.map(({ name, of, version, loaded }) => [name, of, version, loaded]);
  assert.deepEqual(shown.slice(0, 2), [
    ["daily.cud", "clamd", "27815", true],
    ["own.ndb", "clamd", undefined, undefined],
  ]);
  assert.deepEqual(
    report.databases.slice(2).map(({ name, of }) => [name, of]),
    [["built-in rules", "rules"]],
  );
  const [daily, own, rules] = report.databases;
  assert.equal(Math.round((daily?.age_seconds ?? 0) / 86_400), 9);
  assert.equal(daily?.source, join(clamd.folder, "signatures", "daily.cud"));
  assert.match(own?.sha256 ?? "", /^[0-9a-f]{64}$/);
  assert.match(rules?.sha256 ?? "", /^[0-9a-f]{64}$/);
  assert.ok((rules?.signatures ?? 0) > 20);

  // A folder that is ahead of clamd.
  using newer = temporaryFolder();
  writeFileSync(join(newer.path, "daily.cud"), dailyDatabase({ version: 27816, builtAt: Date.now() }));
  const ahead = await signatureReport(settings, { now: Date.now(), maxAgeDays: 7, folder: newer.path });
  assert.deepEqual([ahead.state, ahead.databases[0]?.version, ahead.databases[0]?.loaded], ["old", "27816", false]);
});

test("of a clamd whose folder is not here it tells what clamd says of itself", async () => {
  await using proxy = await clamdProxy(clamd.socketPath);
  const settings = settingsOf({ clamd: describeAddress(proxy.address), engine: "Q" });
  const { state, databases } = await signatureReport(settings, { now: Date.now(), maxAgeDays: 7 });
  assert.equal(state, "old");
  assert.deepEqual(
    databases.map(({ name, version, source }) => [name, version, source]),
    [["daily", "27815", `clamd at ${describeAddress(proxy.address)}`]],
  );
});

test("the exit code says whether they are young enough, and --wait waits until they are", async () => {
  using folder = temporaryFolder();
  const run = async (...args: string[]): Promise<[number | null, string]> => {
    const { code, out, err } = await cliOutcome(["signatures", ...args], { cwd: folder.path });
    return [code, `${out}${err}`];
  };
  const [old, shown] = await run("--clamd", address());
  assert.equal(old, 1);
  assert.match(shown, /^DATABASE +VERSION +BUILT +AGE +SIGNATURES +LOADED +SOURCE\ndaily\.cud +27815 .* 9 d +1 +yes /);
  assert.match(shown, /\nold: clamd has signatures 27815, 9\.0 days old, more than 7: run freshclam/);
  assert.equal((await run("--clamd", address(), "--max-age", "10"))[0], 0);
  assert.equal((await run("--clamd", "none"))[0], 2);

  const socket = join(folder.path, "clamd.sock");
  const [gone, waited] = await run("--clamd", `unix:${socket}`, "--wait", "--timeout", "1s");
  assert.deepEqual([gone, /lazaret: waiting: cannot reach clamd/.test(waited)], [3, true]);
});

test("--wait ends when clamd has come, and an unknown age is young to nobody who did not ask for any", async () => {
  await using late = await testClamd();
  await late.kill();
  using folder = temporaryFolder();
  const flags = ["--clamd", `unix:${late.socketPath}`, "--engine", "Q", "--json"];
  const waiting = cliOutcome(["signatures", ...flags, "--wait", "--max-age", "any"], { cwd: folder.path });
  await late.start();
  const { code, out } = await waiting;
  assert.deepEqual([code, JSON.parse(out).state], [0, "unknown"]);
  const { code: strict } = await cliOutcome(["signatures", ...flags], { cwd: folder.path });
  assert.equal(strict, 2);
});
