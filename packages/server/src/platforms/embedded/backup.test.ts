import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { sampleJob } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder, watchChild } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { newJobId } from "../../queue/job-queue.ts";
import { type BackupNote, makeBackup, removeOlder } from "./backup.ts";
import { type JobStore, openJobStore } from "./job-store.ts";
import { checkBackup, restoreBackup } from "./restore.ts";

const now = new Date("2026-11-16T12:00:00.123Z");
const NAME = "2026-11-16T12-00-00-123Z";

/** A place with a data folder that has a job, keys, and a bookmark of a guard. */
async function aFolder(path: string): Promise<{ dataDir: string; into: string; id: string }> {
  const dataDir = join(path, "data");
  const job = sampleJob();
  await using store = await opened(dataDir);
  await store.queue.add(job);
  writeFileSync(join(dataDir, "callback-signing-key.pem"), "a private key", { mode: 0o600 });
  mkdirSync(join(dataDir, "guard"));
  writeFileSync(join(dataDir, "guard", "bookmark.json"), "{}", { mode: 0o600 });
  mkdirSync(join(dataDir, "buckets", "uploads"), { recursive: true });
  writeFileSync(join(dataDir, "buckets", "uploads", "file"), "an object");
  return { dataDir, into: join(path, "backups"), id: job.id };
}

async function opened(dataDir: string): Promise<JobStore & AsyncDisposable> {
  const store = await openJobStore(dataDir);
  return { ...store, [Symbol.asyncDispose]: store.close };
}

async function idsIn(dataDir: string): Promise<string[]> {
  await using store = await opened(dataDir);
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.browser.list({ limit: 500, ...(after && { after }) });
    ids.push(...page.entries.map(({ id }) => id));
    after = page.next;
    if (!after) return ids.sort();
  }
}

const refused =
  (message: RegExp, hint = /./) =>
  (error: Error & { hint?: string }) => {
    assert.match(error.message, message);
    assert.match(error.hint ?? "", hint);
    return true;
  };

test("a backup of a folder that is written to has what was acknowledged before, and nothing half", async () => {
  using place = temporaryFolder();
  const { dataDir, into, id } = await aFolder(place.path);
  await using store = await opened(dataDir);
  const acknowledged = [id];
  let copying = true;
  const client = async (): Promise<void> => {
    while (copying) {
      const job = sampleJob({ id: newJobId() });
      await store.queue.add(job);
      acknowledged.push(job.id);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  await until("it is busy", () => acknowledged.length > 200);
  const before = [...acknowledged];
  const { path, note } = await makeBackup({ dataDir, into, withKeys: true, now });
  copying = false;
  await Promise.all(clients);
  assert.ok(acknowledged.length > before.length, "jobs were added meanwhile");
  assert.equal(path, join(into, NAME));

  const restored = join(place.path, "restored");
  assert.deepEqual(await restoreBackup({ backup: path, dataDir: restored }), note);
  const there = await idsIn(restored);
  assert.deepEqual(
    before.filter((each) => !there.includes(each)),
    [],
  );
  assert.deepEqual(
    there.filter((each) => !acknowledged.includes(each)),
    [],
  );
  assert.equal(note.rows.jobs, there.length);
  for (const name of ["secret.key", "callback-signing-key.pem", "guard/bookmark.json"])
    assert.deepEqual(readFileSync(join(restored, name)), readFileSync(join(dataDir, name)), name);
  assert.equal(existsSync(join(path, "buckets")), false);
});

test("a copy ends although something is written between any two of its steps", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  change(dataDir, "CREATE TABLE filler (b BLOB); INSERT INTO filler VALUES (zeroblob(4000000))");
  using db = new DatabaseSync(join(dataDir, "jobs.db"), { timeout: 5000 });
  let ended = false;
  const made = makeBackup({ dataDir, into, withKeys: true, now }).finally(() => {
    ended = true;
  });
  const until = performance.now() + 30_000;
  while (!ended && performance.now() < until) {
    db.exec("INSERT INTO filler VALUES (x'00')");
    await new Promise(setImmediate);
  }
  assert.ok(ended, "it does not end");
  await made;
});

test("a backup is for its owner only, whatever the umask, and so is what is restored from it", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const umask = process.umask(0);
  const restored = join(place.path, "restored");
  try {
    const { path } = await makeBackup({ dataDir, into, withKeys: true, now });
    await restoreBackup({ backup: path, dataDir: restored });
  } finally {
    process.umask(umask);
  }
  for (const folder of [into, join(into, NAME), restored]) assert.equal(statSync(folder).mode & 0o777, 0o700, folder);
  for (const name of ["jobs.db", "secret.key", "callback-signing-key.pem"]) {
    for (const folder of [join(into, NAME), restored])
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, join(folder, name));
  }
});

test("an earlier schema is copied as it is: the version before can run on what is restored", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  change(dataDir, "DROP TABLE findings; PRAGMA user_version = 5");
  const { path, note } = await makeBackup({ dataDir, into, withKeys: true, now });
  assert.equal(note.schema, 5);
  const restored = join(place.path, "restored");
  await restoreBackup({ backup: path, dataDir: restored });
  for (const folder of [dataDir, restored]) {
    using db = new DatabaseSync(join(folder, "jobs.db"));
    assert.equal(db.prepare("PRAGMA user_version").get()?.user_version, 5, folder);
  }
});

test("without keys a backup has nothing that opens it, and is restored with those that are kept apart", async () => {
  using place = temporaryFolder();
  const { dataDir, into, id } = await aFolder(place.path);
  writeFileSync(join(dataDir, "api-keys"), "a key of a client");
  const { path: backup, note } = await makeBackup({ dataDir, into, withKeys: false, now });
  assert.deepEqual(
    note.files.map((file) => file.path),
    ["jobs.db", "guard/bookmark.json"],
  );
  const restored = join(place.path, "restored");
  await assert.rejects(restoreBackup({ backup, dataDir: restored }), refused(/made without its keys/, /--keys FOLDER/));
  const other = join(place.path, "other");
  mkdirSync(other);
  writeFileSync(join(other, "secret.key"), randomBytes(32));
  await assert.rejects(restoreBackup({ backup, dataDir: restored, keys: other }), refused(/sealed with another/));
  await restoreBackup({ backup, dataDir: restored, keys: dataDir });
  assert.deepEqual(await idsIn(restored), [id]);
});

test("what is not a whole backup is refused, and the data folder is not touched", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const { path: whole, note } = await makeBackup({ dataDir, into, withKeys: true, now });
  const restored = join(place.path, "restored");
  const changes: [change: (path: string) => void, message: RegExp][] = [
    [(path) => rmSync(join(path, "backup.json")), /is no backup: it has no backup.json/],
    [(path) => writeFileSync(join(path, "backup.json"), "{}"), /cannot be understood/],
    [
      (path) => rewrite(path, { schema: 99, lazaret: "7.8.9" }),
      /lazaret 7\.8\.9 made this backup, and its database has version 99/,
    ],
    [(path) => rewrite(path, { files: [{ ...note.files[0], path: "../outside" } as never] }), /cannot be understood/],
    [(path) => rewrite(path, { files: [{ ...note.files[0], mode: 0o4755 } as never] }), /cannot be understood/],
    [(path) => rewrite(path, { files: [{ ...note.files[0], mode: -1 } as never] }), /cannot be understood/],
    [(path) => rewrite(path, { files: [{ ...note.files[0], path: "jobs.db-wal" } as never] }), /cannot be understood/],
    [(path) => rewrite(path, { rows: undefined as never }), /cannot be understood/],
    [(path) => rewrite(path, { lazaret: undefined as never }), /cannot be understood/],
    [(path) => rewrite(path, { files: [] }), /jobs\.db in .* is missing/],
    [(path) => rmSync(join(path, "secret.key")), /secret\.key in .* is missing/],
    [(path) => flipByte(join(path, "jobs.db")), /jobs\.db in .* is not what was written/],
  ];
  for (const [number, [spoil, message]] of changes.entries()) {
    const backup = join(place.path, String(number));
    cpSync(whole, backup, { recursive: true });
    spoil(backup);
    await assert.rejects(checkBackup(backup), refused(message));
    await assert.rejects(restoreBackup({ backup, dataDir: restored }), refused(message));
    assert.equal(existsSync(restored), false);
  }
});

test("a folder that is in use, or not empty, is not restored into", async () => {
  using place = temporaryFolder();
  const { dataDir, into, id } = await aFolder(place.path);
  const { path: backup } = await makeBackup({ dataDir, into, withKeys: true, now });
  await using _running = await opened(dataDir);
  await assert.rejects(restoreBackup({ backup, dataDir }), refused(/is not empty/, /stop lazaret if it runs/));
  const full = join(place.path, "full");
  mkdirSync(full);
  writeFileSync(join(full, "notes.txt"), "mine");
  await assert.rejects(restoreBackup({ backup, dataDir: full }), refused(/is not empty/));
  assert.deepEqual(readdirSync(full), ["notes.txt"]);
  // The root of a volume.
  const volume = join(place.path, "volume");
  mkdirSync(join(volume, "lost+found"), { recursive: true });
  await restoreBackup({ backup, dataDir: volume });
  assert.deepEqual(await idsIn(volume), [id]);
});

test("nothing starts on what a killed restore left, and the next restore begins anew", async () => {
  using place = temporaryFolder();
  const { dataDir, into, id } = await aFolder(place.path);
  const { path: backup } = await makeBackup({ dataDir, into, withKeys: true, now });
  const restored = join(place.path, "restored");
  const mark = join(restored, ".restore-unfinished");
  // Before the database has its name, and when nothing is left but to remove the mark.
  for (const moment of ["rename", "rm"] as const) {
    await killedAt(moment, `restoreBackup(${JSON.stringify({ backup, dataDir: restored })})`);
    assert.equal(existsSync(join(restored, "jobs.db")), moment === "rm", "earlier versions do not start without it");
    await assert.rejects(
      openJobStore(restored),
      refused(/a restore into it has not ended/, /run lazaret restore again/),
    );
    // The second finds what the first left.
    writeFileSync(join(restored, "half-a-file"), "");
  }
  writeFileSync(mark, String(process.ppid));
  await assert.rejects(restoreBackup({ backup, dataDir: restored }), refused(/process \d+ restores into/));
  writeFileSync(mark, "");
  await restoreBackup({ backup, dataDir: restored });
  assert.deepEqual(readdirSync(restored).sort(), ["callback-signing-key.pem", "guard", "jobs.db", "secret.key"]);
  assert.deepEqual(await idsIn(restored), [id]);
});

test("a backup that is killed leaves the folder and earlier backups as they were, and what it left goes", async () => {
  using place = temporaryFolder();
  const { dataDir, into, id } = await aFolder(place.path);
  await using store = await opened(dataDir);
  const { path: earlier, note } = await makeBackup({ dataDir, into, withKeys: true, now });
  await killedAt("rename", `makeBackup({ ...${JSON.stringify({ dataDir, into, withKeys: true })}, now: new Date() })`);
  const [draft = "", ...others] = readdirSync(into).filter((name) => name !== NAME);
  assert.match(draft, /^\.unfinished-/);
  assert.deepEqual(others, []);
  assert.deepEqual(await checkBackup(earlier), note);
  await store.queue.add(sampleJob());

  await makeBackup({ dataDir, into, withKeys: true, now: new Date() });
  assert.ok(existsSync(join(into, draft)), "it could be one that is under way");
  utimesSync(join(into, draft), 0, 0);
  const { path } = await makeBackup({ dataDir, into, withKeys: true, now: new Date(Date.now() + 1000) });
  assert.equal(existsSync(join(into, draft)), false);

  assert.deepEqual(await removeOlder(path, 2), [earlier]);
  assert.equal(readdirSync(into).length, 2);
  const clockWentBack = await makeBackup({ dataDir, into, withKeys: true, now });
  assert.equal((await removeOlder(clockWentBack.path, 2)).length, 1);
  assert.deepEqual(readdirSync(into).sort(), [NAME, basename(path)], "the one just made stays, whatever its name");
  const restored = join(place.path, "restored");
  await restoreBackup({ backup: path, dataDir: restored });
  assert.ok((await idsIn(restored)).includes(id));
});

test("a folder without its key, with another, or with a damaged database is not backed up as if it were well", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const backUp = () => makeBackup({ dataDir, into, withKeys: true, now });
  await assert.rejects(
    makeBackup({ dataDir, into: join(dataDir, "backups"), withKeys: true, now }),
    refused(/is in the data folder/),
  );
  const key = readFileSync(join(dataDir, "secret.key"));
  writeFileSync(join(dataDir, "secret.key"), "half");
  await assert.rejects(backUp(), refused(/secret\.key cannot be used: it has 4 bytes/));
  writeFileSync(join(dataDir, "secret.key"), randomBytes(32));
  await assert.rejects(backUp(), refused(/secret\.key does not belong to the job database/));
  rmSync(join(dataDir, "secret.key"));
  await assert.rejects(backUp(), refused(/there is no secret\.key/));
  writeFileSync(join(dataDir, "secret.key"), key);
  writeFileSync(join(dataDir, "jobs.db"), Buffer.alloc(8192, 7));
  await assert.rejects(backUp(), refused(/it is not a database/));
  assert.deepEqual(readdirSync(into), []);
});

test("no backup is made without the jobs that are behind damage in the log of changes", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const crashed = join(place.path, "crashed");
  await using store = await opened(dataDir);
  for (let count = 0; count < 20; count += 1) await store.queue.add(sampleJob({ id: newJobId() }));
  mkdirSync(crashed);
  for (const name of ["jobs.db", "jobs.db-wal", "secret.key"]) {
    writeFileSync(join(crashed, name), readFileSync(join(dataDir, name)));
  }
  const log = readFileSync(join(crashed, "jobs.db-wal"));
  writeFileSync(join(crashed, "jobs.db-wal"), log.fill(0xa5, log.length / 2, log.length / 2 + 64));
  const backUp = () => makeBackup({ dataDir: crashed, into, withKeys: true, now });
  await assert.rejects(backUp(), refused(/jobs\.db-wal is damaged/, /start lazaret again/));
  await (await opened(crashed))[Symbol.asyncDispose]();
  await backUp();
});

test("keys that lie elsewhere, with links to them, are in the backup; root follows none in the folder of another user", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const names = ["secret.key", "callback-signing-key.pem"];
  for (const name of names) {
    renameSync(join(dataDir, name), join(place.path, name));
    symlinkSync(join("..", name), join(dataDir, name));
  }
  symlinkSync("nowhere", join(dataDir, "dangling"));
  const { path } = await makeBackup({ dataDir, into, withKeys: true, now });
  for (const name of names) assert.deepEqual(readFileSync(join(path, name)), readFileSync(join(dataDir, name)), name);
  assert.deepEqual((await checkBackup(path)).files.map((file) => file.path).sort(), [
    "callback-signing-key.pem",
    "guard/bookmark.json",
    "jobs.db",
    "secret.key",
  ]);
  if (process.getuid?.() !== 0) return;
  chownSync(dataDir, 65534, 65534);
  await assert.rejects(
    makeBackup({ dataDir, into, withKeys: true, now: new Date() }),
    refused(/is a link, which root does not follow/, /as the user of the service/),
  );
});

test("root copies nothing that the owner of the folder could not read, wherever he puts it", async (t) => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const backUp = () => makeBackup({ dataDir, into, withKeys: true, now: new Date() });
  const secret = join(place.path, "secret.json");
  writeFileSync(secret, "root's own", { mode: 0o600 });
  if (process.getuid?.() !== 0) return t.diagnostic("nobody is served here: this needs root");
  for (const each of [".", ...readdirSync(dataDir)]) chownSync(join(dataDir, each), 65534, 65534);
  symlinkSync(secret, join(dataDir, "guard", "mine.json"));
  await assert.rejects(backUp(), refused(/guard\/mine\.json is a link, which root does not follow/));
  rmSync(join(dataDir, "guard", "mine.json"));
  linkSync(secret, join(dataDir, "mine.json"));
  await assert.rejects(backUp(), refused(/mine\.json cannot be read by the user whose folder it is in/));
  rmSync(join(dataDir, "mine.json"));
  renameSync(join(dataDir, "guard"), join(place.path, "elsewhere"));
  symlinkSync(join(place.path, "elsewhere"), join(dataDir, "guard"));
  await assert.rejects(backUp(), refused(/guard is a link/));
  assert.deepEqual(readdirSync(into), []);
});

test("links lead a backup not into the data folder, and a restore not out of it", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const link = join(place.path, "link");
  symlinkSync(dataDir, link);
  await assert.rejects(
    makeBackup({ dataDir, into: join(link, "backups"), withKeys: true, now }),
    refused(/is in the data folder/),
  );
  assert.equal(existsSync(join(dataDir, "backups")), false);
  const { path: backup } = await makeBackup({ dataDir: link, into, withKeys: true, now });
  const target = join(place.path, "target");
  mkdirSync(target);
  symlinkSync(join(place.path, "victim"), join(target, ".restore-unfinished"));
  await assert.rejects(restoreBackup({ backup, dataDir: target }), refused(/cannot restore into .*target: ELOOP/));
  assert.equal(existsSync(join(place.path, "victim")), false);
});

test("where nothing can be written, backup and restore say so in words", async () => {
  using place = temporaryFolder();
  const { dataDir, into } = await aFolder(place.path);
  const { path: backup } = await makeBackup({ dataDir, into, withKeys: true, now });
  const file = join(place.path, "file");
  writeFileSync(file, "mine");
  for (const nowhere of [file, join(file, "below"), "/proc/nowhere"]) {
    await assert.rejects(
      makeBackup({ dataDir, into: nowhere, withKeys: true, now }),
      refused(/^cannot make the backup .*(EEXIST|ENOTDIR|cannot make a folder)/, /earlier backups are as they were/),
    );
    await assert.rejects(
      restoreBackup({ backup, dataDir: nowhere }),
      refused(/^cannot restore into .*(EEXIST|ENOTDIR|cannot make a folder)/, /begins anew/),
    );
  }
  assert.equal(readFileSync(file, "utf8"), "mine");
});

/** Does it in a process that is killed with -9 when it is about to give the name that counts, or to remove the mark. */
async function killedAt(moment: "rename" | "rm", work: string): Promise<void> {
  const urlOf = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const code = `
    import { createRequire, syncBuiltinESMExports } from "node:module";
    const files = createRequire(import.meta.url)("node:fs/promises");
    const { rm } = files;
    files.${moment} = async (path, ...more) => {
      if (${moment === "rename"} || path.endsWith(".restore-unfinished")) process.kill(process.pid, "SIGKILL");
      else await rm(path, ...more);
    };
    syncBuiltinESMExports();
    const { makeBackup } = await import(${urlOf("./backup.ts")});
    const { restoreBackup } = await import(${urlOf("./restore.ts")});
    await ${work};`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
  if (child.pid) watchChild(child.pid);
  const [, signal] = await once(child, "exit");
  assert.equal(signal, "SIGKILL");
}

function change(dataDir: string, sql: string): void {
  using db = new DatabaseSync(join(dataDir, "jobs.db"), { timeout: 5000 });
  db.exec(sql);
}

function rewrite(path: string, fields: Partial<BackupNote>): void {
  const file = join(path, "backup.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), ...fields }));
}

function flipByte(path: string): void {
  const bytes = readFileSync(path);
  bytes[5000] = (bytes[5000] ?? 0) ^ 1;
  chmodSync(path, 0o600);
  writeFileSync(path, bytes);
}
