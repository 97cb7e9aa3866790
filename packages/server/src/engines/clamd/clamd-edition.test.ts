import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { type TestClamd, testClamd } from "../../../test/support/clamd.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { clamd } from "./clamd.ts";
import { type ClamdEdition, clamdEdition, startOf } from "./clamd-edition.ts";

const line = (digit: string): string => `${digit.repeat(64)}:5:Known.${digit}\n`;
const signatures = { "one.hsb": line("1"), "two.hsb": line("2") };
const opened: ClamdEdition[] = [];
afterEach(() => {
  for (const edition of opened.splice(0)) edition.close();
});
function clamdEditionOf(daemon: TestClamd): ClamdEdition {
  const edition = clamdEdition({ kind: "unix", path: daemon.socketPath });
  opened.push(edition);
  return edition;
}
const editionOf = (daemon: TestClamd): (() => object | undefined) => clamdEditionOf(daemon).now;

describe("what clamd has loaded", () => {
  test("is certain as long as nothing has changed since before it was started", async () => {
    await using daemon = await testClamd({}, { signatures });
    const now = editionOf(daemon);
    const first = now();
    assert.ok(first);
    assert.equal(now(), first);
    // Whoever asks first later sees the same.
    assert.ok(editionOf(daemon)());
  });

  const folderOf = (daemon: TestClamd): string => join(daemon.folder, "signatures");
  const changes: Record<string, (daemon: TestClamd) => void> = {
    "a signature is added to a file": (daemon) => appendFileSync(join(folderOf(daemon), "one.hsb"), line("3")),
    "a file is added": (daemon) => writeFileSync(join(folderOf(daemon), "three.hsb"), line("3")),
    "a file is removed": (daemon) => rmSync(join(folderOf(daemon), "two.hsb")),
    "a file is renamed": (daemon) => renameSync(join(folderOf(daemon), "two.hsb"), join(folderOf(daemon), "three.hsb")),
    "a file is written again with the same size and time": (daemon) => {
      const path = join(folderOf(daemon), "one.hsb");
      const { atime, mtime } = lstatSync(path);
      writeFileSync(path, line("3"));
      utimesSync(path, atime, mtime);
    },
    "its configuration is written": (daemon) => appendFileSync(join(daemon.folder, "clamd.conf"), "# a word\n"),
  };
  for (const [name, change] of Object.entries(changes)) {
    test(`is not certain when ${name}, also to whoever asks first then, until it is started again`, async () => {
      await using daemon = await testClamd({}, { signatures });
      const now = editionOf(daemon);
      const first = now();
      assert.ok(first);
      change(daemon);
      assert.equal(now(), undefined);
      assert.equal(editionOf(daemon)(), undefined);
      await daemon.kill();
      assert.equal(now(), undefined);
      await daemon.start();
      const second = now();
      assert.ok(second);
      assert.notEqual(second, first);
    });
  }

  test("is not certain again when the folder above was exchanged for an older one, which clamd has not loaded", async () => {
    using above = temporaryFolder();
    const [used, other] = ["used", "other"].map((name) => join(above.path, name));
    assert.ok(used && other);
    for (const folder of [used, other]) {
      mkdirSync(join(folder, "signatures"), { recursive: true });
      writeFileSync(join(folder, "signatures", "one.hsb"), line("1"));
    }
    await using daemon = await testClamd({ DatabaseDirectory: join(used, "signatures") });
    const now = editionOf(daemon);
    assert.ok(now());
    renameSync(used, join(above.path, "away"));
    renameSync(other, used);
    assert.equal(now(), undefined);
    await passed(1100);
    assert.equal(now(), undefined);
    // Nor when it is back: clamd may have loaded the other meanwhile.
    renameSync(used, other);
    renameSync(join(above.path, "away"), used);
    await passed(1100);
    assert.equal(now(), undefined);
    await daemon.kill();
    await daemon.start();
    assert.ok(now());
  });

  test("is not certain when it is gone, nor after it was replaced by another that looks the same", async () => {
    await using daemon = await testClamd({}, { signatures });
    const now = editionOf(daemon);
    const first = now();
    await daemon.kill();
    assert.equal(now(), undefined);
    await daemon.start();
    assert.ok(now());
    assert.notEqual(now(), first);
  });

  test("is not certain from the moment that its process ends, also before anybody has heard of that", async () => {
    await using daemon = await testClamd({}, { signatures });
    const now = editionOf(daemon);
    assert.ok(now());
    process.kill(daemon.pid, "SIGSTOP");
    assert.ok(now(), "it is only stopped");
    process.kill(daemon.pid, "SIGKILL");
    // Without a turn of the event loop: nobody takes note of its end, so the kernel keeps it, and its socket is there.
    const until = performance.now() + 10_000;
    while (!/\) Z /.test(readFileSync(`/proc/${daemon.pid}/stat`, "latin1"))) assert.ok(performance.now() < until);
    assert.ok(lstatSync(daemon.socketPath).isSocket());
    assert.equal(now(), undefined);
    await daemon.kill();
    assert.equal(now(), undefined);
    await daemon.start();
    assert.ok(now());
  });

  test("is asked of one open file for each process, which is closed with it, with the engine, and when nothing is certain any more", async () => {
    const filesOf = (pid: number): number => openFiles().filter((path) => path === `/proc/${pid}/stat`).length;
    // Of a process that has ended the path may be written in another way.
    const filesOfAny = (): string[] => openFiles().filter((path) => path.startsWith("/proc/"));
    await using daemon = await testClamd({}, { signatures });
    const edition = clamdEditionOf(daemon);
    for (let round = 0; round < 3; round += 1) {
      const { pid } = daemon;
      for (let look = 0; look < 100; look += 1) assert.ok(edition.now());
      assert.equal(filesOf(pid), 1);
      await daemon.kill();
      assert.equal(edition.now(), undefined);
      assert.deepEqual(filesOfAny(), [], `round ${round}`);
      await daemon.start();
    }
    assert.ok(edition.now());
    // Told to stop, it takes its socket with it.
    process.kill(daemon.pid, "SIGTERM");
    await until("its socket is gone", () => !existsSync(daemon.socketPath));
    assert.equal(edition.now(), undefined);
    assert.equal(edition.last(), undefined);
    assert.deepEqual(filesOfAny(), []);
    await daemon.kill();
    await daemon.start();
    assert.ok(edition.now());
    appendFileSync(join(daemon.folder, "clamd.conf"), "# a word\n");
    assert.equal(edition.now(), undefined);
    assert.equal(filesOf(daemon.pid), 0);
    await daemon.kill();
    await daemon.start();
    assert.ok(edition.now());
    assert.equal(filesOf(daemon.pid), 1);
    edition.close();
    assert.equal(filesOf(daemon.pid), 0);
    await passed(1100);
    assert.equal(edition.now(), undefined);
    assert.equal(edition.last(), undefined);
    edition.close();
    assert.equal(filesOf(daemon.pid), 0);

    const engine = clamd({ address: { kind: "unix", path: daemon.socketPath }, concurrency: 1 });
    await engine.health(AbortSignal.timeout(30_000));
    assert.equal(filesOf(daemon.pid), 1);
    await engine.close();
    assert.equal(filesOf(daemon.pid), 0);
  });

  test("is not certain where it cannot be seen: over TCP, behind a link, from another program", async () => {
    assert.equal(clamdEdition({ kind: "tcp", host: "127.0.0.1", port: 3310 }).now(), undefined);
    await using daemon = await testClamd({}, { signatures });
    const linked = `${daemon.folder}/linked`;
    symlinkSync(join(daemon.folder, "signatures"), linked);
    await using behindLink = await testClamd({ DatabaseDirectory: linked });
    assert.equal(editionOf(behindLink)(), undefined);
    assert.equal(clamdEdition({ kind: "unix", path: join(daemon.folder, "clamd.conf") }).now(), undefined);
    assert.equal(clamdEdition({ kind: "unix", path: join(daemon.folder, "nothing") }).now(), undefined);
    assert.ok(editionOf(daemon)());
  });
});

/** Of this process. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      // That of the list itself.
      return [];
    }
  });
}

test("the configuration of a clamd is known by its command line, if that says nothing else", () => {
  const cases: [args: string[], confPath: string | undefined, foreground: boolean][] = [
    [["--config-file=/etc/clamd.conf"], "/etc/clamd.conf", false],
    [["-c", "/etc/clamd.conf", "-F"], "/etc/clamd.conf", true],
    [["--foreground=true", "--config-file=/a b.conf"], "/a b.conf", true],
    [["--foreground=true"], undefined, true],
    [["--foreground=no", "--config-file=/etc/clamd.conf"], undefined, false],
    [["--config-file=clamd.conf"], undefined, false],
    [["--config-file=/etc/clamd.conf", "--datadir=/elsewhere"], undefined, false],
    [["-c", "/etc/clamd.conf", "--datadir=/elsewhere"], undefined, false],
    [["--datadir=/elsewhere", "-c", "/etc/clamd.conf"], undefined, false],
    [["-c"], undefined, false],
    [[], undefined, false],
  ];
  for (const [args, confPath, foreground] of cases) {
    const read = startOf(["/usr/sbin/clamd", ...args, ""].join("\0"));
    assert.deepEqual([read.confPath, read.foreground], [confPath, foreground], args.join(" "));
  }
  assert.deepEqual(startOf(""), { foreground: false });
});
