import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { findClamdConf, readClamdConf } from "./clamd-conf.ts";

test("clamd's configuration is read as clamd does, with its defaults for what is not there", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "clamd.conf");
  writeFileSync(
    path,
    "# MaxThreads 3\nMaxFileSize 2000M\n  StreamMaxLength 1G\nMaxScanSize 0\nAlertEncrypted true\nDisableCache no\n",
  );
  const conf = readClamdConf(path);
  assert.ok(conf);
  assert.deepEqual(
    (["MaxThreads", "MaxFileSize", "StreamMaxLength", "MaxScanSize", "MaxScanTime"] as const).map(conf.number),
    [10, 2000 * 1024 ** 2, 1024 ** 3, Number.POSITIVE_INFINITY, 120_000],
  );
  assert.deepEqual(
    (["AlertEncrypted", "AlertExceedsMax", "DisableCache", "ConcurrentDatabaseReload"] as const).map(conf.says),
    [true, false, false, true],
  );
  assert.equal(conf.temporaryDir, "/tmp");
  assert.equal(readClamdConf(join(folder.path, "nowhere.conf")), undefined);
  writeFileSync(path, "TemporaryDirectory /var/lib/clamav-tmp\n");
  assert.equal(readClamdConf(path)?.temporaryDir, "/var/lib/clamav-tmp");
});

test("a configuration counts only for the clamd that listens where it says", () => {
  using folder = temporaryFolder();
  const socket = join(folder.path, "clamd.sock");
  writeFileSync(join(folder.path, "clamd.conf"), `LocalSocket ${socket}\n`);
  assert.equal(findClamdConf({ kind: "unix", path: socket })?.path, join(folder.path, "clamd.conf"));
  assert.equal(findClamdConf({ kind: "unix", path: join(folder.path, "other.sock") }), undefined);
});

test("Debian's /var/run is the /run that clamd listens in", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "clamd.conf");
  writeFileSync(path, "LocalSocket /var/run/clamav/clamd.ctl\n");
  const found = (socket: string): unknown => findClamdConf({ kind: "unix", path: socket }, [path])?.path;
  assert.equal(found("/run/clamav/clamd.ctl"), path);
  assert.equal(found("/run/clamav/other.ctl"), undefined);
});
