import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { damagedLogs, keepDamagedLog } from "./damaged-log.ts";

const FRAME_BYTES = 24 + 4096;

interface Crashed {
  /** Opened by nobody, with a log that holds all commits. */
  path: string;
  log: Buffer;
  write(log: Uint8Array): void;
  /** Rows that SQLite finds. */
  rows(): number;
}

/** The files of a database as a crash leaves them, after work on it. */
function crashed(folder: string, work: (db: DatabaseSync) => void): Crashed {
  const [live, path] = [join(folder, "live.db"), join(folder, "jobs.db")];
  using db = new DatabaseSync(live);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a)");
  work(db);
  for (const end of ["", "-wal"]) copyFileSync(`${live}${end}`, `${path}${end}`);
  const log = readFileSync(`${path}-wal`);
  return {
    path,
    log,
    write: (changed) => writeFileSync(`${path}-wal`, changed),
    rows() {
      using opened = new DatabaseSync(path);
      return Number(opened.prepare("SELECT count(*) AS count FROM t").get()?.count);
    },
  };
}

const insert = (db: DatabaseSync, count: number): void => {
  for (let number = 0; number < count; number += 1) db.exec(`INSERT INTO t VALUES ('${"x".repeat(3000)}')`);
};

function junkAt(log: Buffer, at: number, length = 64): Buffer {
  const changed = Buffer.from(log);
  changed.fill(0xa5, at, at + length);
  return changed;
}

test("a log with junk in its middle is kept once, whatever the junk has hit", () => {
  using folder = temporaryFolder();
  const { path, log, write, rows } = crashed(folder.path, (db) => insert(db, 40));
  assert.equal(keepDamagedLog(path), false);
  const frames = Math.floor((log.length - 32) / FRAME_BYTES);
  const middle = 32 + Math.floor(frames / 2) * FRAME_BYTES;
  for (const [what, at, length] of [
    ["a page", middle + 1000, 64],
    ["the header of a frame", middle, 24],
    ["the salts of a frame", middle + 8, 8],
    ["one bit's worth", middle + 30, 1],
    ["several frames", middle - FRAME_BYTES, 3 * FRAME_BYTES],
    ["the log's header", 0, 32],
    ["the checksum of the log's header", 24, 8],
  ] as const) {
    write(junkAt(log, at, length));
    assert.equal(keepDamagedLog(path), true, what);
    assert.equal(damagedLogs(path).length, 1, what);
  }
  assert.equal(readFileSync(damagedLogs(path)[0] ?? "").length, log.length);
  write(junkAt(log, middle + 1000));
  assert.ok(rows() < 40, "SQLite says nothing, and rows are lost");
});

test("a log whose beginning reads as zeros is kept, as a lost block of the disk does", () => {
  for (const bytes of [4096, 8192, 65_536]) {
    using folder = temporaryFolder();
    const { path, log, write, rows } = crashed(folder.path, (db) => insert(db, 40));
    write(Buffer.from(log).fill(0, 0, bytes));
    assert.equal(keepDamagedLog(path), true, `${bytes} bytes`);
    assert.equal(damagedLogs(path).length, 1);
    assert.throws(rows, /no such table/, "SQLite says nothing of the log, and all of it is lost");
  }
});

test("a log that another process writes while it is read is not called damaged", () => {
  using folder = temporaryFolder();
  const { path, log, write } = crashed(folder.path, (db) => insert(db, 40));
  const middle = 32 + Math.floor((log.length - 32) / FRAME_BYTES / 2) * FRAME_BYTES;
  // Read before it was written, and those behind it after they were.
  write(junkAt(log, middle));
  assert.equal(
    keepDamagedLog(path, () => write(junkAt(log, middle + 4 * FRAME_BYTES))),
    false,
  );
  assert.deepEqual(damagedLogs(path), []);
  write(junkAt(log, middle));
  assert.equal(
    keepDamagedLog(path, () => write(junkAt(log, middle))),
    true,
  );
});

test("at most three copies are kept", () => {
  using folder = temporaryFolder();
  const { path, log, write } = crashed(folder.path, (db) => insert(db, 5));
  for (let number = 0; number < 5; number += 1) {
    const other = Buffer.from(log);
    // Other salts, in a header that is damaged, and in all frames.
    for (let at = 32; at < other.length; at += FRAME_BYTES) other.writeUInt32BE(number, at + 8);
    write(junkAt(other, 0, 32));
    assert.equal(keepDamagedLog(path), true);
  }
  assert.equal(damagedLogs(path).length, 3);
});

test("a log that a crash cut anywhere is not called damaged", () => {
  using folder = temporaryFolder();
  const { path, log, write } = crashed(folder.path, (db) => insert(db, 10));
  for (let length = 0; length <= log.length; length += 500) {
    write(log.subarray(0, length));
    assert.equal(keepDamagedLog(path), false, `${length} bytes`);
  }
  write(junkAt(log, log.length - 2000));
  assert.equal(keepDamagedLog(path), false, "the last commit may not have been finished");
  write(Buffer.alloc(log.length));
  assert.equal(keepDamagedLog(path), false, "zeros");
});

test("what is left of a log that was begun anew, or of a transaction that was not finished, is no damage", () => {
  using folder = temporaryFolder();
  const begunAnew = crashed(folder.path, (db) => {
    insert(db, 40);
    db.exec("PRAGMA wal_checkpoint(RESTART)");
    insert(db, 3);
  });
  assert.ok(begunAnew.log.length > 20 * FRAME_BYTES);
  assert.equal(keepDamagedLog(begunAnew.path), false);
  assert.equal(begunAnew.rows(), 43);

  using another = temporaryFolder();
  const unfinished = crashed(another.path, (db) => {
    insert(db, 3);
    // More than the cache holds goes to the log before it is committed.
    db.exec("PRAGMA cache_size = 2; BEGIN");
    insert(db, 60);
    db.exec("ROLLBACK");
    insert(db, 2);
  });
  assert.ok(unfinished.log.length > 20 * FRAME_BYTES);
  assert.equal(keepDamagedLog(unfinished.path), false);
  assert.equal(unfinished.rows(), 5);
});
