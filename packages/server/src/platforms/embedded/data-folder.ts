import { mkdir, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeSecretKey, readSecretKey } from "./secret-key.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";
import { syncFolder } from "./written-once.ts";

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
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const secretKey = await keyFor(databasePath, keyPath);
    await using database = await open(databasePath, "a", 0o600);
    // SQLite gives its other files the rights of this one.
    if ((await database.stat()).mode & 0o077) await database.chmod(0o600);
    await syncFolder(dataDir);
    return { databasePath, secretKey };
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    throw new DatabaseUnavailable(
      `cannot use the data folder ${dataDir}: ${error instanceof Error ? error.message : error}`,
      "LAZARET_DATA_DIR must name a folder that the user who runs lazaret can write to",
      { cause: error },
    );
  }
}

/** The key is always made before the database: a database without one has lost it, and a new one would not open it. */
async function keyFor(databasePath: string, keyPath: string): Promise<Uint8Array> {
  const key = await readSecretKey(keyPath);
  if (key) return key;
  if (!(await hasContent(databasePath))) return await makeSecretKey(keyPath);
  // Another process may have made both since we looked.
  const made = await readSecretKey(keyPath);
  if (made) return made;
  throw new DatabaseUnavailable(
    `cannot read the jobs in ${databasePath}: ${keyPath} is missing`,
    "restore the secret.key that belongs to it, or move jobs.db* away to start with no jobs",
  );
}

async function hasContent(path: string): Promise<boolean> {
  try {
    return (await stat(path)).size > 0;
  } catch {
    return false;
  }
}
