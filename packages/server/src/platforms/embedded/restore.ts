import { constants, existsSync, readFileSync } from "node:fs";
import { lchown, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder, syncFolder } from "../shared/durable-file.ts";
import { type BackupNote, checkDatabase, inWords, keyAt, readNote } from "./backup.ts";
import { type BackupFile, copyFile, DATABASE, described, SECRET_KEY } from "./backup-files.ts";
import { RESTORING } from "./data-folder.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";
import { newestSchema } from "./sqlite/schema.ts";

export interface RestoreOptions {
  backup: string;
  dataDir: string;
  /** Where secret.key and the signing key are, of a backup that has none. */
  keys?: string;
}

/** Compares every file of a backup with its note. Throws `DatabaseUnavailable`, also when it is of a newer version. */
export async function checkBackup(path: string): Promise<BackupNote> {
  const note = await readNote(path);
  if (note.schema > newestSchema) {
    throw new DatabaseUnavailable(
      `lazaret ${note.lazaret} made this backup, and its database has version ${note.schema}; this lazaret knows ${newestSchema}`,
      `restore it with lazaret ${note.lazaret} or newer`,
    );
  }
  if (!note.files.some((file) => file.path === DATABASE)) throw changed(path, DATABASE, "is missing");
  for (const file of note.files) {
    const found = await described(join(path, file.path), file.path).catch(() => undefined);
    if (!found) throw changed(path, file.path, "is missing, or cannot be read");
    if (!same(found, file)) throw changed(path, file.path, "is not what was written");
  }
  return note;
}

/**
 * Makes a data folder of a backup, where there is none. Until it is whole nothing starts on it: a mark in it says so, and the database gets its name
 * last, which earlier versions wait for, too. After a kill it is called again, and begins anew. Throws `DatabaseUnavailable`.
 */
export async function restoreBackup({ backup, dataDir, keys }: RestoreOptions): Promise<BackupNote> {
  const note = await checkBackup(backup);
  const files = await withKeys(note.files, { backup, keys });
  const secretKey = await keyAt(files.find(({ as }) => as === SECRET_KEY)?.path ?? "");
  try {
    await claim(dataDir);
    await fill(dataDir, { backup, note, files, secretKey });
  } catch (error) {
    throw inWords(error, `restore into ${dataDir}`, "lazaret restore begins anew when it is run again");
  }
  return note;
}

interface Filling {
  backup: string;
  note: BackupNote;
  files: readonly Source[];
  secretKey: Uint8Array | undefined;
}

async function fill(dataDir: string, { backup, note, files, secretKey }: Filling): Promise<void> {
  const owner = await stat(dataDir);
  const give = async (path: string): Promise<void> => {
    // Root restores for the user whose folder it is. Never what a link leads to: that user may have made it.
    if (process.getuid?.() === 0 && owner.uid !== 0) await lchown(path, owner.uid, owner.gid);
  };
  // The database last: before that, one with its key and without it is refused by every version.
  const ordered = files.toSorted((a, b) => Number(a.as === DATABASE) - Number(b.as === DATABASE));
  for (const { path, as, file } of ordered) {
    const to = join(dataDir, as === DATABASE ? DRAFT : as);
    const copied = await copyFile({ path, to, as, mode: file.mode });
    if (!copied || !same(copied, file)) throw changed(backup, as, "was changed while it was read");
    if (as.includes("/")) await give(join(to, ".."));
    await give(to);
  }
  const { schema } = await checkDatabase(join(dataDir, DRAFT), secretKey);
  if (schema !== note.schema) throw changed(backup, DATABASE, `has version ${schema}, not ${note.schema}`);
  await rename(join(dataDir, DRAFT), join(dataDir, DATABASE));
  await syncFolder(dataDir);
  await rm(join(dataDir, RESTORING));
  await syncFolder(dataDir);
}

const DRAFT = `${DATABASE}.restored`;
const SIGNING_KEY = "callback-signing-key.pem";

interface Source {
  path: string;
  as: string;
  file: BackupFile;
}

/** The files of the backup, and those keys that it has not. */
async function withKeys(
  files: readonly BackupFile[],
  { backup, keys }: { backup: string; keys: string | undefined },
): Promise<Source[]> {
  const sources = files.map((file) => ({ path: join(backup, file.path), as: file.path, file }));
  if (files.some(({ path }) => path === SECRET_KEY)) return sources;
  if (keys === undefined) {
    throw new DatabaseUnavailable(
      `${backup} was made without its keys, and nobody can read its jobs without ${SECRET_KEY}`,
      `name the folder where ${SECRET_KEY} and ${SIGNING_KEY} are kept: --keys FOLDER`,
    );
  }
  for (const name of [SECRET_KEY, SIGNING_KEY]) {
    const path = join(keys, name);
    const file = await described(path, name).catch(() => undefined);
    if (file) sources.push({ path, as: name, file: { ...file, mode: 0o600 } });
    else if (name === SECRET_KEY) {
      throw new DatabaseUnavailable(`there is no ${SECRET_KEY} in ${keys}`, "name the folder where it is kept");
    }
  }
  return sources;
}

/** Takes an empty folder, or one that a restore was killed over. A mark in it keeps all others away. */
async function claim(dataDir: string): Promise<void> {
  makeFolder(dataDir, 0o700);
  const mark = join(dataDir, RESTORING);
  const names = (await readdir(dataDir)).filter((name) => name !== "lost+found");
  if (names.length > 0 && !names.includes(RESTORING)) {
    throw new DatabaseUnavailable(
      `${dataDir} is not empty`,
      `stop lazaret if it runs, and move what is there out of the way: mv ${dataDir} ${dataDir}.before`,
    );
  }
  const other = restorerOf(mark);
  if (other !== undefined) throw underWay(dataDir, other);
  // The mark stays while the rest goes.
  for (const name of names) if (name !== RESTORING) await rm(join(dataDir, name), { recursive: true, force: true });
  const { O_CREAT, O_WRONLY, O_TRUNC, O_EXCL, O_NOFOLLOW } = constants;
  const first = names.length === 0 ? O_EXCL : O_TRUNC | O_NOFOLLOW;
  await using file = await open(mark, O_CREAT | O_WRONLY | first, 0o600).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? underWay(dataDir, restorerOf(mark)) : error;
  });
  await file.writeFile(String(process.pid));
  await file.sync();
  await syncFolder(dataDir);
}

function underWay(dataDir: string, pid: number | undefined): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `process ${pid ?? "?"} restores into ${dataDir}`,
    `wait for it; if that is no lazaret restore, remove ${join(dataDir, RESTORING)} and all else in the folder`,
  );
}

/** Who made the mark, if that one is still there. */
function restorerOf(mark: string): number | undefined {
  if (!existsSync(mark)) return undefined;
  const pid = Number(readFileSync(mark, "utf8"));
  return Number.isInteger(pid) && pid > 0 && pid !== process.pid && isThere(pid) ? pid : undefined;
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function same(found: BackupFile, wanted: BackupFile): boolean {
  return found.bytes === wanted.bytes && found.sha256 === wanted.sha256;
}

function changed(backup: string, file: string, how: string): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `${file} in ${backup} ${how}`,
    "take another backup; nothing was restored from this one",
  );
}
