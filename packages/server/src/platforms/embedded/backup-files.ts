import { createHash } from "node:crypto";
import { constants, createReadStream, type Stats, statSync } from "node:fs";
import { type FileHandle, lstat, open, readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder, syncFolder } from "../shared/durable-file.ts";
import { RESTORING } from "./data-folder.ts";
import { DatabaseUnavailable } from "./sqlite/database-unavailable.ts";

export const DATABASE = "jobs.db";
export const SECRET_KEY = "secret.key";

export interface BackupFile {
  /** Below the data folder, with slashes. */
  path: string;
  bytes: number;
  sha256: string;
  mode: number;
}

/** The owner of a data folder, where root works for him. */
export type Owner = Pick<Stats, "uid" | "gid">;

/** Undefined where whoever asks has no more rights than the owner of the folder. */
export async function servedOwner(dataDir: string): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(dataDir);
  if (owner.uid === 0) return undefined;
  await refuseLinks(dataDir, [DATABASE, SECRET_KEY, "guard"]);
  return owner;
}

/** What else is in a data folder: the files in it, and bookmarks of guards. Other folders are buckets, and what is made anew. */
export async function filesIn(
  dataDir: string,
  { withKeys, owner }: { withKeys: boolean; owner: Owner | undefined },
): Promise<string[]> {
  const entries = (await readdir(dataDir, { withFileTypes: true })).filter(({ name }) => !isPassing(name));
  const links = entries.filter((entry) => entry.isSymbolicLink() && isFileAt(join(dataDir, entry.name)));
  const guards = await readdir(join(dataDir, "guard")).catch(() => []);
  const bookmarks = guards.filter((name) => name.endsWith(".json")).map((name) => `guard/${name}`);
  if (owner) await refuseLinks(dataDir, [...bookmarks, ...links.map(({ name }) => name)]);
  const top = [...entries.filter((entry) => entry.isFile()), ...links].map(({ name }) => name);
  return [...top.filter((name) => withKeys || name.endsWith(".public.pem")), ...bookmarks];
}

/** A key may lie elsewhere. But what root can read, and the owner of the folder cannot, must not come to him with a restore. */
async function refuseLinks(dataDir: string, names: readonly string[]): Promise<void> {
  for (const path of names.map((name) => join(dataDir, name))) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSymbolicLink())
      throw notHis(path, "is a link, which root does not follow in the folder of another user");
  }
}

/** The same of a file that is open: whatever was put in its place since. */
async function refuseSecrets(file: FileHandle, path: string, { uid, gid }: Owner): Promise<void> {
  const found = await file.stat();
  const readable = found.uid === uid || (found.gid === gid && found.mode & 0o040) || found.mode & 0o004;
  if (!readable) throw notHis(path, "cannot be read by the user whose folder it is in");
}

function notHis(path: string, what: string): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `${path} ${what}`,
    "run lazaret backup as the user of the service, or put the file itself there, as his",
  );
}

export function isPassing(name: string): boolean {
  return name.startsWith(DATABASE) || name.endsWith(".draft") || name.startsWith(".room-") || name === RESTORING;
}

function isFileAt(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Copies one file and says what was copied; undefined when it is gone. */
export async function copyFile(file: {
  path: string;
  to: string;
  as: string;
  mode?: number;
  /** For whom root copies, if it does. */
  owner?: Owner | undefined;
}): Promise<BackupFile | undefined> {
  const hash = createHash("sha256");
  let bytes = 0;
  const { O_RDONLY, O_NOFOLLOW } = constants;
  await using source = await open(file.path, O_RDONLY | (file.owner ? O_NOFOLLOW : 0)).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    },
  );
  if (!source) return undefined;
  if (file.owner) await refuseSecrets(source, file.path, file.owner);
  const mode = file.mode ?? (await source.stat()).mode & 0o777;
  makeFolder(resolve(file.to, ".."), 0o700);
  await using target = await open(file.to, "wx", 0o600);
  for await (const part of source.createReadStream({ autoClose: false })) {
    hash.update(part);
    bytes += part.length;
    await target.appendFile(part);
  }
  await target.chmod(mode);
  await target.sync();
  await syncFolder(resolve(file.to, ".."));
  return { path: file.as, bytes, sha256: hash.digest("hex"), mode };
}

/** What a file is, without a copy. */
export async function described(path: string, as: string): Promise<BackupFile> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(path)) hash.update(part);
  const { size, mode } = await stat(path);
  return { path: as, bytes: size, sha256: hash.digest("hex"), mode: mode & 0o777 };
}
