import assert from "node:assert/strict";
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type TestClamd, testClamd } from "../../../test/support/clamd.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { readSettings } from "../../settings/read-settings.ts";
import type { Check } from "./check.ts";
import { clamdChecks } from "./clamd-checks.ts";

async function checksOf(daemon: TestClamd): Promise<(name: string) => Check[]> {
  const read = readSettings({ flags: { clamd: `unix:${daemon.socketPath}` }, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  const checks = await clamdChecks({ settings: read.settings, now: Date.now() });
  return (name) => checks.filter((check) => check.name === name);
}

test("tells what clamd opens by itself, and the room in its temporary folder", async () => {
  await using daemon = await testClamd();
  const checks = await checksOf(daemon);
  assert.deepEqual(
    checks("clamd opens").map(({ level }) => level),
    ["ok"],
  );
  assert.match(checks("clamd opens")[0]?.detail ?? "", /^zip\/stored, .*, ole; it finds its test files/);
  assert.match(checks("clamd folder")[0]?.detail ?? "", /free in its temporary folder .*\/tmp$/);
  assert.equal(checks("clamd folder").length, 1);
});

test("tells what killed clamds have left in the folder, and how to sweep it", async () => {
  await using daemon = await testClamd();
  const left = join(daemon.temporaryDir, `clamav-${"0123456789abcdef".repeat(2)}.tmp`);
  writeFileSync(left, "");
  const old = new Date(Date.now() - 7_200_000);
  utimesSync(left, old, old);
  const [, leftovers] = (await checksOf(daemon))("clamd folder");
  assert.equal(leftovers?.level, "warn");
  assert.match(leftovers?.detail ?? "", /^1 files and folders in .* are left/);
  assert.match(leftovers?.fix ?? "", /^find .*\/tmp -maxdepth 1 /);
});

test("a clamd that does not find its test files fails, with what to do", async () => {
  await using daemon = await testClamd({ ScanArchive: "no" });
  const [check] = (await checksOf(daemon))("clamd opens");
  assert.equal(check?.level, "fail");
  assert.match(check?.detail ?? "", /ScanArchive yes/);
});

test("a clamd that is installed and has no socket is a warning; one that is required, or was there before, a failure", async () => {
  using folder = temporaryFolder();
  const asked = async (flags: Record<string, string>): Promise<Check | undefined> => {
    const read = readSettings({ flags: { clamd: "auto", dataDir: folder.path, ...flags }, env: {}, file: {} });
    assert.ok(read.kind === "ok");
    const clamdSockets = [join(folder.path, "clamd.sock")];
    return (await clamdChecks({ settings: read.settings, now: Date.now(), clamdSockets }))[0];
  };
  const installed = await asked({});
  assert.equal(installed?.level, "warn");
  assert.match(installed?.detail ?? "", /^clamd is installed here, but none of the usual sockets is there: /);
  assert.match(installed?.fix ?? "", /systemctl enable --now clamav-daemon/);
  assert.equal((await asked({ requireClamd: "true" }))?.level, "fail");
  assert.match((await asked({ requireClamd: "true", clamd: "none" }))?.detail ?? "", /REQUIRE_CLAMD is true/);
  writeFileSync(join(folder.path, "clamd-seen"), "unix:/run/clamav/clamd.ctl\n");
  const gone = await asked({});
  assert.equal(gone?.level, "fail");
  assert.match(gone?.detail ?? "", /it was in use at unix:\/run\/clamav\/clamd\.ctl/);
  assert.equal((await asked({ clamd: "none" }))?.level, "warn");
});

test("a clamd that does not report its limits opens nothing that counts", async () => {
  await using daemon = await testClamd({ AlertExceedsMax: "no" });
  assert.equal((await checksOf(daemon))("clamd opens")[0]?.level, "warn");
});

test("a clamd with fewer places than Lazaret opens connections is a warning", async () => {
  await using daemon = await testClamd({ MaxQueue: "20" });
  const [check] = (await checksOf(daemon))("clamd limits");
  assert.equal(check?.level, "warn");
  assert.match(check?.detail ?? "", /^MaxQueue is 20, and up to \d+ connections are open: scans beyond it hang$/);
  assert.match(check?.fix ?? "", /^set MaxQueue \d+ in /);
});
