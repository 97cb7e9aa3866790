import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, open, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, syncFolder, writeOnce } from "../shared/durable-file.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";

/** Is in a data folder until a restore into it is whole. */
export const RESTORING = ".restore-unfinished";

export interface DataFolder {
  databasePath: string;
  secretKey: Uint8Array;
}

/**
 * Makes what is not there yet, readable for the owner only: the folder, the secret key, an empty database. Several
 * processes may do so at once. Throws `DatabaseUnavailable`.
 */
export async function prepareDataFolder(dataDir: string): Promise<DataFolder> {
  const databasePath = join(dataDir, "jobs.db");
  const keyPath = join(dataDir, "secret.key");
  try {
    makeFolder(dataDir, 0o700);
    if (existsSync(join(dataDir, RESTORING))) throw halfRestored(dataDir);
    return { databasePath, secretKey: await keyFor(databasePath, keyPath) };
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    throw unusable(error, `use the data folder ${dataDir}`, "LAZARET_DATA_DIR must name a folder that");
  }
}

function halfRestored(dataDir: string): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `the data folder ${dataDir} is not whole: a restore into it has not ended`,
    "run lazaret restore again, which begins anew, or move the folder away",
  );
}

/**
 * An empty database is made first, then the key, then the database gets its first content. So neither is ever without the
 * other unless it was lost.
 */
async function keyFor(databasePath: string, keyPath: string): Promise<Uint8Array> {
  const key = await readSecretKey(keyPath);
  if (key && (await sizeOf(databasePath)) === undefined) throw withoutDatabase(databasePath, keyPath);
  if (!key && ((await sizeOf(databasePath)) ?? 0) > 0) {
    // Another process may have made both meanwhile.
    const made = await readSecretKey(keyPath);
    if (made) return made;
    throw new DatabaseUnavailable(
      `cannot read the jobs in ${databasePath}: ${keyPath} is missing`,
      "restore the secret.key that belongs to it, or move jobs.db* away to start with no jobs and a new key",
    );
  }
  await using database = await open(databasePath, "a", 0o600);
  // SQLite gives its other files the rights of this one.
  if ((await database.stat()).mode & 0o077) await database.chmod(0o600);
  await syncFolder(dirname(databasePath));
  return key ?? (await makeSecretKey(keyPath));
}

function withoutDatabase(databasePath: string, keyPath: string): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `there is ${keyPath}, and ${databasePath} is missing: jobs that were accepted are in it`,
    `put jobs.db back, or make an empty one to start with no jobs: touch ${databasePath}`,
  );
}

/**
 * Throws `DatabaseUnavailable` when so many bytes cannot be written to the folder. By writing them, to a file that has no name
 * any more: a database may find room in its own files for one small change, and none for the next job.
 */
export async function roomFor(bytes: number, dataDir: string): Promise<void> {
  const path = join(dataDir, `.room-${randomUUID()}`);
  try {
    await using file = await open(path, "wx", 0o600);
    await unlink(path);
    await file.writeFile(Buffer.alloc(bytes, "room"));
  } catch (error) {
    throw unusable(error, `write to the data folder ${dataDir}`, "it must be a folder that");
  }
}

function unusable(cause: unknown, attempt: string, folder: string): DatabaseUnavailable {
  const { code, message } = cause as NodeJS.ErrnoException;
  const full = code === "ENOSPC" || code === "EDQUOT";
  return new DatabaseUnavailable(
    `cannot ${attempt}: ${full ? "the disk is full" : message}`,
    full ? "free some space; jobs accepted so far are kept" : `${folder} the user who runs lazaret can write to`,
    { cause, passes: full },
  );
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

const KEY_BYTES = 32;

/** Undefined when there is none yet. Throws when there is something else under that name. */
export async function readSecretKey(path: string): Promise<Uint8Array | undefined> {
  const key = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (key && key.length !== KEY_BYTES) {
    throw new DatabaseUnavailable(
      `${path} cannot be used: it has ${key.length} bytes, not ${KEY_BYTES}`,
      "restore the secret.key that belongs to the job database; without it nobody can read its jobs",
    );
  }
  // A backup may have been restored with other rights. Where they cannot be changed the key still serves.
  if (key) await chmod(path, 0o600).catch(() => {});
  return key;
}

/**
 * Made once; all later calls, also those of other processes at the same moment, answer the same.
 * @internal tested without the rest of the folder
 */
export async function makeSecretKey(path: string): Promise<Uint8Array> {
  await writeOnce(path, randomBytes(KEY_BYTES));
  const key = await readSecretKey(path);
  if (!key) throw new Error("it vanished");
  return key;
}
