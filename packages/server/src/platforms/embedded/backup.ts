import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { open, readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { version } from "../../version.ts";
import { makeFolder, syncFolder, writeOnce } from "../shared/durable-file.ts";
import { sealer } from "../shared/sealed.ts";
import {
  type BackupFile,
  copyFile,
  DATABASE,
  described,
  filesIn,
  isPassing,
  SECRET_KEY,
  servedOwner,
} from "./backup-files.ts";
import { readSecretKey } from "./data-folder.ts";
import { refuseDamagedLog } from "./sqlite/damaged-log.ts";
import { type DatabaseSize, databaseSize } from "./sqlite/database-size.ts";
import { DatabaseUnavailable, failureOf, unavailable } from "./sqlite/database-unavailable.ts";

/**
 * A backup is a folder: the database as one file, the other files of the data folder as they were, and this beside them, written last.
 * A folder without it is no backup.
 */
export interface BackupNote {
  format: typeof FORMAT;
  /** In ISO 8601. */
  madeAt: string;
  /** The version that made the backup, and the version of the database's schema. */
  lazaret: string;
  schema: number;
  rows: DatabaseSize["rows"];
  files: readonly BackupFile[];
}

const FORMAT = 1;
const NOTE = "backup.json";

export interface BackupOptions {
  dataDir: string;
  /** The folder in which backups are, each under the time it was made. */
  into: string;
  /** False leaves out all that opens what is sealed, or signs: the rest is of no use to others. */
  withKeys: boolean;
  now: Date;
}

export interface MadeBackup {
  path: string;
  note: BackupNote;
}

/** Free beyond the copy: a service on the same disk must be able to go on. */
const ROOM_TO_LEAVE = 64 * 1024 * 1024;
/** Of a backup that was killed; a younger one may be under way. */
const LEFT_BEHIND_MS = 24 * 3600 * 1000;
const UNFINISHED = ".unfinished-";

/**
 * Copies a data folder while services run on it, as it was at one moment: what was acknowledged before this was called is in it. Nothing in the
 * data folder is changed, not even the schema of an earlier version. Backups that are there stay; a kill at any moment leaves no
 * half of one under a name that counts. Throws `DatabaseUnavailable`.
 */
export async function makeBackup({ dataDir, into, withKeys, now }: BackupOptions): Promise<MadeBackup> {
  refuseInside(dataDir, into);
  const name = now.toISOString().replace(/[:.]/g, "-");
  const draft = join(into, `${UNFINISHED}${name}-${randomUUID()}`);
  const path = join(into, name);
  try {
    makeFolder(into, 0o700);
    await removeLeftovers(into, now);
    makeFolder(draft, 0o700);
    await checkRoom(join(dataDir, DATABASE), into);
    const owner = await servedOwner(dataDir);
    refuseDamagedLog(join(dataDir, DATABASE));
    await copyDatabase(join(dataDir, DATABASE), join(draft, DATABASE));
    const { schema, rows } = await checkDatabase(join(draft, DATABASE), await keyIn(dataDir));
    const files = [await described(join(draft, DATABASE), DATABASE)];
    for (const each of await filesIn(dataDir, { withKeys, owner })) {
      const copied = await copyFile({ path: join(dataDir, each), to: join(draft, each), as: each, owner });
      if (copied) files.push(copied);
    }
    const note: BackupNote = { format: FORMAT, madeAt: now.toISOString(), lazaret: version, schema, rows, files };
    await writeOnce(join(draft, NOTE), `${JSON.stringify(note, null, 2)}\n`);
    await rename(draft, path);
    await syncFolder(into);
    return { path, note };
  } catch (error) {
    // What failed counts, also where nothing can be removed.
    await rm(draft, { recursive: true, force: true }).catch(() => {});
    throw inWords(error, `make the backup ${path}`, "the service and earlier backups are as they were");
  }
}

/** Deletes all backups beside `made` but the newest, so that `keep` stay; answers their paths. */
export async function removeOlder(made: string, keep: number): Promise<string[]> {
  const into = dirname(made);
  const names = (await readdir(into)).filter((name) => /^\d{4}-\d\d-\d\dT[\d-]+Z$/.test(name)).sort();
  // Whatever the clock says, and said before: the one just made is the newest.
  const others = names.filter((name) => name !== basename(made));
  const older = others.slice(0, Math.max(0, others.length - keep + 1)).map((name) => join(into, name));
  for (const path of older) {
    // Without its note it counts as none, however far the rest gets.
    await rm(join(path, NOTE), { force: true });
    await rm(path, { recursive: true, force: true });
  }
  return older;
}

/**
 * Throws `DatabaseUnavailable` when the database is damaged, or was sealed with another key than the one given. Answers what a note says of
 * it. The file is whole by itself afterwards, with no log of changes beside it.
 */
export async function checkDatabase(
  path: string,
  secretKey: Uint8Array | undefined,
): Promise<Pick<BackupNote, "schema" | "rows">> {
  const schema = withDatabase(path, (db) => {
    db.exec("PRAGMA journal_mode = DELETE");
    const found = db.prepare("PRAGMA quick_check(1)").get()?.quick_check;
    if (found !== "ok") throw new DatabaseUnavailable(`the copy of the job database is damaged: ${found}`, MEND);
    const number = Number(db.prepare("PRAGMA user_version").get()?.user_version);
    if (secretKey && number > 0) checkKey(db, secretKey);
    return number;
  });
  const size = databaseSize(path);
  if (!size)
    throw new DatabaseUnavailable(`there is nothing in ${path} yet`, "start lazaret once, then it has content");
  return { schema, rows: size.rows };
}

const MEND = "lazaret doctor says more about the data folder; an earlier backup may be whole";

function checkKey(db: DatabaseSync, secretKey: Uint8Array): void {
  const known = db.prepare("SELECT key_check AS keyCheck FROM seal").get()?.keyCheck;
  if (known === undefined) return;
  if (known instanceof Uint8Array && Buffer.compare(known, sealer(secretKey).keyCheck) === 0) return;
  throw new DatabaseUnavailable(
    `${SECRET_KEY} does not belong to the job database: its jobs were sealed with another`,
    "find the secret.key that was beside it; without it nobody can read its jobs",
  );
}

/**
 * By SQLite's own copy, page by page, in a read transaction. Without one the copy begins again whenever a service writes, and never
 * ends under load. Those who write do not wait for those who read; their log of changes grows as long as this takes, so it takes no longer than
 * it must.
 */
async function copyDatabase(from: string, to: string): Promise<void> {
  try {
    using source = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
    source.exec("BEGIN");
    source.prepare("SELECT count(*) FROM sqlite_schema").get();
    await (await open(to, "wx", 0o600)).close();
    await backup(source, to);
    source.exec("COMMIT");
  } catch (error) {
    throw databaseError(error, from);
  }
  await using file = await open(to, "r");
  await file.sync();
}

async function keyIn(dataDir: string): Promise<Uint8Array> {
  const key = await keyAt(join(dataDir, SECRET_KEY));
  if (key) return key;
  throw new DatabaseUnavailable(
    `there is no ${SECRET_KEY} in ${dataDir}: nobody can read the jobs of this data folder`,
    "restore the secret.key that belongs to it first",
  );
}

/** Undefined when there is none. Throws `DatabaseUnavailable` when that is no key. */
export async function keyAt(path: string): Promise<Uint8Array | undefined> {
  return readSecretKey(path).catch((error: Error) => {
    if (error instanceof DatabaseUnavailable) throw error;
    throw new DatabaseUnavailable(
      `${path} cannot be used: ${error.message}`,
      "find the secret.key that belongs to the job database; without it nobody can read its jobs",
      { cause: error },
    );
  });
}

function refuseInside(dataDir: string, into: string): void {
  const way = relative(withoutLinks(resolve(dataDir)), withoutLinks(resolve(into)));
  if (way.startsWith("..") || way.startsWith("/")) return;
  throw new DatabaseUnavailable(
    `${into} is in the data folder: what happens to that would happen to its backups`,
    "name a folder elsewhere, better on another disk",
  );
}

/** Where a path leads, also when its end is not there yet. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return join(withoutLinks(dirname(path)), basename(path));
  }
}

async function removeLeftovers(into: string, now: Date): Promise<void> {
  for (const name of (await readdir(into)).filter((each) => each.startsWith(UNFINISHED))) {
    // One that was under way may have got its name meanwhile.
    const { mtimeMs } = (await stat(join(into, name)).catch(() => undefined)) ?? { mtimeMs: now.getTime() };
    if (now.getTime() - mtimeMs > LEFT_BEHIND_MS) await rm(join(into, name), { recursive: true, force: true });
  }
}

async function checkRoom(database: string, into: string): Promise<void> {
  const { bavail, bsize } = await statfs(into);
  const needed = (await stat(database)).size + ROOM_TO_LEAVE;
  if (bavail * bsize > needed) return;
  throw new DatabaseUnavailable(
    `there is no room for a backup in ${into}: ${needed} bytes are needed, ${bavail * bsize} are free`,
    "free some space, or name a folder on another disk",
  );
}

/** Opens a file that nobody else uses. */
function withDatabase<Result>(path: string, work: (db: DatabaseSync) => Result): Result {
  try {
    using db = new DatabaseSync(path);
    return work(db);
  } catch (error) {
    throw databaseError(error, path);
  }
}

function databaseError(error: unknown, path: string): unknown {
  const failure = failureOf(error, path);
  return failure && !(error instanceof DatabaseUnavailable) ? unavailable(failure) : error;
}

/** What the system refused while we tried to do something, and what that left. */
export function inWords(error: unknown, doing: string, left: string): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const full = code === "ENOSPC" || code === "EDQUOT";
  return new DatabaseUnavailable(
    `cannot ${doing}: ${full ? "the disk is full" : message}`,
    full ? `free some space; ${left}` : left,
    { cause: error },
  );
}

/** Reads the note of a backup. Throws `DatabaseUnavailable` when there is none, or none that we know. */
export async function readNote(path: string): Promise<BackupNote> {
  const text = await readFile(join(path, NOTE), "utf8").catch(() => undefined);
  if (text === undefined) {
    throw new DatabaseUnavailable(
      `${path} is no backup: it has no ${NOTE}`,
      "name the folder that lazaret backup printed, such as backups/2026-11-16T12-00-00-000Z",
    );
  }
  const note = parsed(text);
  if (note) return note;
  throw new DatabaseUnavailable(
    `${join(path, NOTE)} cannot be understood`,
    "take another backup; this one was changed",
  );
}

function parsed(text: string): BackupNote | undefined {
  try {
    const note = JSON.parse(text) as BackupNote;
    const known = note.format === FORMAT && Number.isInteger(note.schema) && /^[\w.+-]+$/.test(note.lazaret ?? "");
    const counted = Object.values(note.rows).every(Number.isInteger) && !Number.isNaN(Date.parse(note.madeAt));
    return known && counted && Array.isArray(note.files) && note.files.every(isFile) ? note : undefined;
  } catch {
    return undefined;
  }
}

/** No path leads out of the folder or to what a restore makes itself, and no file runs as its owner, whoever wrote the note. */
function isFile({ path, bytes, sha256, mode }: BackupFile): boolean {
  const parts = String(path).split("/");
  const plain = parts.every((part) => part !== "" && part !== "." && part !== ".." && !/[\\\0]/.test(part));
  const placed = parts.length === 1 || (parts.length === 2 && parts[0] === "guard");
  const lasting = path === DATABASE || !isPassing(path);
  const modest = Number.isInteger(mode) && mode >= 0 && mode <= 0o777;
  return plain && placed && lasting && modest && Number.isInteger(bytes) && /^[\da-f]{64}$/.test(sha256);
}
