import assert from "node:assert/strict";
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import type { Check } from "./check.ts";
import { clockCheck, permissionChecks, spaceCheck } from "./machine-checks.ts";

const NOW = Date.UTC(2026, 10, 15);
const MIB = 1024 ** 2;
const levels = (checks: readonly Check[]): string[] => checks.map(({ level }) => level);

test("little space is told, and too little fails", () => {
  assert.deepEqual(
    [5000 * MIB, 500 * MIB, 50 * MIB].map((free) => spaceCheck("/data", free).level),
    ["ok", "warn", "fail"],
  );
});

test("a clock that cannot be right is told by the year, the server's clock, or files from the future", async () => {
  using folder = temporaryFolder();
  assert.equal((await clockCheck(folder.path, NOW)).level, "ok");
  assert.equal((await clockCheck(folder.path, Date.UTC(1970, 0, 2))).level, "fail");
  assert.equal((await clockCheck(folder.path, NOW, NOW - 60_000)).level, "ok");
  assert.match((await clockCheck(folder.path, NOW, NOW - 600_000)).detail, /600 s ahead of the server's/);
  assert.match((await clockCheck(folder.path, NOW, NOW + 600_000)).detail, /600 s behind the server's/);
  const path = join(folder.path, "jobs.db");
  writeFileSync(path, "");
  const future = new Date(NOW + 3_600_000);
  utimesSync(path, future, future);
  assert.equal((await clockCheck(folder.path, NOW)).level, "warn");
});

test("what others may read of the data folder is told, its secrets as a failure", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  assert.deepEqual(levels(await permissionChecks(dataDir)), ["ok"]);
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(dataDir, "callback-signing-key.pem"), "", { mode: 0o600 });
  assert.deepEqual(levels(await permissionChecks(dataDir)), ["ok"]);
  chmodSync(dataDir, 0o755);
  chmodSync(join(dataDir, "callback-signing-key.pem"), 0o640);
  const checks = await permissionChecks(dataDir);
  assert.deepEqual(levels(checks), ["warn", "fail"]);
  assert.match(checks[1]?.fix ?? "", /^chmod 600 .*callback-signing-key\.pem$/);
});
