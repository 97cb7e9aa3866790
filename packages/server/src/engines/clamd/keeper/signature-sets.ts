import { createHash, randomBytes } from "node:crypto";
import { constants, statSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkRoomFor, type SpaceReader } from "../../../unpack/temporary-files.ts";
import { databasesIn, type SignatureDatabase, sha256Of } from "../databases.ts";

/** Signatures in a folder of their own, named by their digest, in which nothing changes any more. */
export interface SignatureSet {
  id: string;
  folder: string;
  databases: readonly SignatureDatabase[];
}

const DRAFT = ".draft-";
const ID_CHARACTERS = 16;

/** Changes with every file of signatures in the folder. Empty where there is none; throws when it cannot be read. */
export async function fingerprintOf(folder: string): Promise<string> {
  const marks = (await databasesIn(folder)).map(({ path }) => {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${path} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  });
  return marks.join("\n");
}

/**
 * Copies the signatures of a folder into one of its own. Nobody ever sees half of it: it gets its name when all is on the disk. Throws
 * when the folder changes meanwhile, and before anything is copied when there is no room: clamd without a free block says OK to anything.
 */
export async function takeSet(source: string, into: string, space?: SpaceReader): Promise<SignatureSet> {
  const before = await fingerprintOf(source);
  if (before === "") throw new Error(`there are no signatures in ${source}`);
  const sizes = (await databasesIn(source)).map(({ path }) => statSync(path).size);
  await mkdir(into, { recursive: true });
  await checkRoomFor({ name: "new signatures", bytes: sizes.reduce((sum, size) => sum + size, 0) }, into, space);
  const draft = join(into, `${DRAFT}${randomBytes(6).toString("hex")}`);
  await mkdir(draft, { recursive: true });
  try {
    const id = await copyAll(await databasesIn(source), draft);
    if ((await fingerprintOf(source)) !== before) throw new Error(`${source} was being written to while it was copied`);
    const folder = join(into, id);
    // The same files, from an earlier time, are as good, if they are still all there.
    if ((await digestOf(folder)) !== id) {
      await rm(folder, { recursive: true, force: true });
      await rename(draft, folder);
    }
    await sync(into);
    return { id, folder, databases: await databasesIn(folder) };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** Undefined where it is not there any more, or not as it was: of one whose removal was cut short, a part may be left. */
export async function setOf(id: string, into: string): Promise<SignatureSet | undefined> {
  const folder = join(into, id);
  return (await digestOf(folder)) === id ? { id, folder, databases: await databasesIn(folder) } : undefined;
}

/** Removes all others, and what was left of copies that were cut short. */
export async function keepOnly(ids: readonly string[], into: string): Promise<void> {
  const others = (await readdir(into).catch(() => [])).filter((name) => !ids.includes(name));
  await Promise.all(others.map((name) => rm(join(into, name), { recursive: true, force: true })));
}

/** Databases with a version of their own, such as `main`, that one set has and the other has none of, by whatever ending. */
export function lackingIn(next: Pick<SignatureSet, "databases">, before: Pick<SignatureSet, "databases">): string[] {
  const versioned = ({ databases }: Pick<SignatureSet, "databases">): string[] =>
    databases.flatMap(({ name, header }) => (header ? [name.replace(/\.\w+$/, "")] : []));
  const there = versioned(next);
  return versioned(before).filter((name) => !there.includes(name));
}

/** `daily.cld 27815, main.cvd 63, own.ndb` */
export function setInWords({ databases }: Pick<SignatureSet, "databases">): string {
  return databases.map(({ name, header }) => (header ? `${name} ${header.version}` : name)).join(", ");
}

/** Answers the digest of what was copied, as it was read back. */
async function copyAll(databases: readonly SignatureDatabase[], into: string): Promise<string> {
  for (const { name, path } of databases) {
    const copy = join(into, name);
    await copyFile(path, copy, constants.COPYFILE_FICLONE);
    await sync(copy);
  }
  await sync(into);
  return digestOf(into);
}

/** Of all names and contents. Empty where there are none. */
async function digestOf(folder: string): Promise<string> {
  const databases = await databasesIn(folder).catch(() => []);
  if (databases.length === 0) return "";
  const all = createHash("sha256");
  for (const { name, path } of databases) all.update(`${name}\0${await sha256Of(path)}\0`);
  return all.digest("hex").slice(0, ID_CHARACTERS);
}

async function sync(path: string): Promise<void> {
  await using file = await open(path);
  await file.sync();
}
