import { type BigIntStats, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Sealer, sealer } from "../../shared/sealed.ts";
import { keepDamagedLog, logOf } from "./damaged-log.ts";
import { rewriteIfSmall } from "./database-size.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";
import { migrate } from "./schema.ts";
import { inTransaction } from "./transaction.ts";

export interface DatabaseOptions {
  path: string;
  /** A database that was sealed with another is refused. */
  secretKey: Uint8Array;
  /** How long to wait for other processes that write. */
  busyTimeoutMs: number;
}

export interface OpenDatabase {
  db: DatabaseSync;
  path: string;
  sealer: Sealer;
  /** Of a database in files. */
  inPlace?: InPlace;
  /** How often to check for jobs that a wrong clock delayed, besides when it is seen to go back. */
  clockCheckEveryMs?: number;
}

/**
 * The log of changes is worked into the database when it has so many pages, and cut back to as much after a burst. Pages that
 * change again and again are written once for all of it: with 1,000 pages, SQLite's own number, that took a fifth of the
 * thread's processor time. With 4,000 the commit that does it takes twice as long, 90 ms.
 */
const WAL_PAGES = 2000;
const WAL_BYTES = 16 * 1024 * 1024;

/** Opens and, if need be, makes and migrates it. Throws `DatabaseUnavailable` or SQLite's errors. */
export function openDatabase({ path, secretKey, busyTimeoutMs }: DatabaseOptions): OpenDatabase {
  const damaged = keepDamagedLog(path);
  const db = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    // Of a database without content, before anything else; of others it stays as it is.
    db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    useWriteAheadLog(db, path);
    migrate(db, path);
    rewriteIfSmall(db);
    const open = { db, path, sealer: sealer(secretKey), inPlace: inPlace(path) };
    checkKey(open);
    // Begins the log anew, so that what is behind the damage is not found again.
    if (damaged) db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return open;
  } catch (error) {
    db.close();
    throw error;
  }
}

function useWriteAheadLog(db: DatabaseSync, path: string): void {
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (mode !== "wal") {
    throw new DatabaseUnavailable(
      `cannot use the job database at ${path}: the file system does not allow a write-ahead log`,
      "put the data folder on a local disk (LAZARET_DATA_DIR); network file systems will not do",
    );
  }
  db.exec(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}; PRAGMA journal_size_limit = ${WAL_BYTES}`);
}

function checkKey({ db, path, sealer: { keyCheck } }: OpenDatabase): void {
  const known = db.prepare("SELECT key_check AS keyCheck FROM seal");
  if (!known.get()) {
    const remember = db.prepare("INSERT INTO seal (key_check) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM seal)");
    inTransaction(db, "durable", () => remember.run(keyCheck));
  }
  const found = known.get()?.keyCheck;
  if (found instanceof Uint8Array && Buffer.compare(found, keyCheck) === 0) return;
  throw new DatabaseUnavailable(
    `cannot use the job database at ${path}: its jobs were sealed with another key than secret.key`,
    "restore the secret.key that belongs to it; to start with no jobs, move jobs.db* away and make an empty jobs.db",
  );
}

/**
 * Throws `DatabaseUnavailable` when the files of an open database are not where they were: removed, or replaced by others.
 * SQLite goes on writing to files that nobody will ever find again. Asked after each transaction, before it is
 * acknowledged.
 */
type InPlace = () => void;

function inPlace(path: string): InPlace {
  const files: { path: string; known?: BigIntStats | undefined }[] = [{ path }, { path: logOf(path) }];
  const check = (): void => {
    for (const file of files) {
      const found = fileAt(file.path);
      // The log of changes is made with the first of them.
      file.known ??= found;
      if (file.known && (found?.ino !== file.known.ino || found.dev !== file.known.dev)) throw lost(file.path);
    }
  };
  check();
  return check;
}

/** Undefined when there is none. A file that cannot be seen may be another one by now. */
function fileAt(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw lost(path, error);
  }
}

function lost(file: string, cause?: unknown): DatabaseUnavailable {
  const reason = cause instanceof Error ? `cannot be seen any more (${cause.message})` : "was removed or replaced";
  return new DatabaseUnavailable(
    `cannot use the job database: ${file} ${reason} while lazaret runs`,
    "put it back where it was, or stop lazaret, restore the data folder, and start it again; jobs are not accepted meanwhile",
  );
}
