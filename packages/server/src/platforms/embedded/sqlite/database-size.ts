import { statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { keepDamagedLog } from "./damaged-log.ts";
import { DatabaseUnavailable, failureOf, unavailable } from "./database-unavailable.ts";

/** What `PRAGMA auto_vacuum` says of a database that can give free pages back while it is in use. */
const INCREMENTAL = 2;
/** Is rewritten within a moment: 16 MB of content. */
const SMALL_PAGES = 4096;

/** How large a database is, and what is in it. */
export interface DatabaseSize {
  bytes: number;
  /** Of them, what holds nothing. */
  freeBytes: number;
  /** The log of changes beside it. */
  logBytes: number;
  /** Free pages are given back to the disk while it is in use. */
  givesBack: boolean;
  rows: Record<keyof typeof TABLES, number>;
}

const TABLES = {
  jobs: "jobs WHERE due_at IS NOT NULL",
  dead_letters: "jobs WHERE buried_at IS NOT NULL",
  results: "results",
  messages: "outbox",
  failed_callbacks: "callback_failures",
};

/** Of a database that has content; undefined when it has none yet. Throws `DatabaseUnavailable`. */
export function databaseSize(path: string): DatabaseSize | undefined {
  if (bytesOf(path) === 0) return undefined;
  return withDatabase(path, (db) => {
    const known = db.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name = ?");
    const count = (rows: string): number => {
      const [table = ""] = rows.split(" ");
      return known.get(table)?.count === 0
        ? 0
        : Number(db.prepare(`SELECT count(*) AS count FROM ${rows}`).get()?.count);
    };
    const pageBytes = pragma(db, "page_size");
    return {
      bytes: pragma(db, "page_count") * pageBytes,
      freeBytes: pragma(db, "freelist_count") * pageBytes,
      logBytes: bytesOf(`${path}-wal`),
      givesBack: givesBack(db),
      rows: Object.fromEntries(
        Object.entries(TABLES).map(([name, rows]) => [name, count(rows)]),
      ) as DatabaseSize["rows"],
    };
  });
}

/**
 * Rewrites a database that no other process has open to its smallest size. From then on it gives back what is free. A kill
 * at any moment leaves it as it was. Throws `DatabaseUnavailable`.
 */
export function compactDatabase(path: string): void {
  // The copy that is made is as large as the content: it goes where there is room for that.
  process.env.SQLITE_TMPDIR ??= dirname(path);
  withDatabase(path, (db) => {
    leaveWriteAheadLog(db, path);
    rewrite(db);
    db.exec("PRAGMA journal_mode = WAL");
  });
}

/** Only who is alone with it can do that. */
function leaveWriteAheadLog(db: DatabaseSync, path: string): void {
  try {
    if (db.prepare("PRAGMA journal_mode = DELETE").get()?.journal_mode === "delete") return;
  } catch (error) {
    const busy = error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === BUSY;
    if (!busy) throw error;
  }
  throw new DatabaseUnavailable(
    `cannot compact the job database at ${path}: another process has it open`,
    "stop lazaret first, also its other commands on this data folder",
  );
}

const BUSY = 5;

/**
 * Databases of before do not give back what is free until they are rewritten. One with little in it is rewritten at the
 * start, on the side: if that cannot be done now, it goes on as it is.
 */
export function rewriteIfSmall(db: DatabaseSync): void {
  if (givesBack(db) || pragma(db, "page_count") - pragma(db, "freelist_count") > SMALL_PAGES) return;
  try {
    rewrite(db);
  } catch (error) {
    if (!(error instanceof Error && "errcode" in error)) throw error;
  }
}

function rewrite(db: DatabaseSync): void {
  db.exec("PRAGMA auto_vacuum = INCREMENTAL; VACUUM");
}

export function givesBack(db: DatabaseSync): boolean {
  return pragma(db, "auto_vacuum") === INCREMENTAL;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function withDatabase<Result>(path: string, work: (db: DatabaseSync) => Result): Result {
  try {
    keepDamagedLog(path);
    using db = new DatabaseSync(path, { timeout: 1000 });
    return work(db);
  } catch (error) {
    const failure = failureOf(error, path);
    throw failure ? unavailable(failure) : error;
  }
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
