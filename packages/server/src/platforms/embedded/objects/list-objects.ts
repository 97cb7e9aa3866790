import { isUtf8 } from "node:buffer";
import type { BigIntStats, Dirent } from "node:fs";
import { opendir } from "node:fs/promises";
import { OBJECT_KEY_MAX_BYTES } from "@lazaret/contract";
import type { ListedObject } from "../../../fetch/object-lister.ts";
import { type Buckets, isSidecar } from "./buckets.ts";
import { type DirectoryHandle, enterAll } from "./directory-handle.ts";
import { versionOf } from "./fingerprint.ts";
import { failedBy, unlessMissing } from "./object-failure.ts";

export interface ListOptions extends Partial<Pick<Walk, "after" | "namesAtOnce" | "onFolder">> {
  prefix?: string;
}

/** The objects of a bucket, in order; see `ObjectLister`. Reads no folders but those in which such keys can be. */
export async function* listObjects(
  buckets: Buckets,
  bucket: string,
  options?: ListOptions,
): AsyncGenerator<ListedObject, undefined> {
  for await (const found of listFiles(buckets, bucket, options)) yield listed(bucket, found);
  return undefined;
}

/** The same as files. */
export async function* listFiles(
  buckets: Buckets,
  bucket: string,
  { prefix = "", after = "", ...rest }: ListOptions = {},
): AsyncGenerator<FoundFile, undefined> {
  try {
    const root = await buckets.open(bucket);
    const base = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const folder = await unlessMissing(enterAll(root, base.split("/").slice(0, -1)));
    if (folder) yield* walkFiles(folder, { ...rest, base, prefix, after });
  } catch (error) {
    throw failedBy(error, "cannot list the bucket");
  }
  return undefined;
}

export function listed(bucket: string, { key, stat }: FoundFile): ListedObject {
  return {
    bucket,
    key,
    version: versionOf(stat),
    sizeBytes: Number(stat.size),
    // Anybody can set back the time of the last change to the bytes, and nobody that to the record.
    modifiedAt: Math.max(Number(stat.mtimeMs), Number(stat.ctimeMs)),
  };
}

export interface FoundFile {
  key: string;
  stat: BigIntStats;
}

interface Walk {
  /** Where `folder` lies in the bucket: "" or a path that ends with a slash. */
  base: string;
  /** How the keys begin, with that of the folder. */
  prefix: string;
  after: string;
  namesAtOnce?: number;
  /** Called for each folder before it is read. */
  onFolder?(base: string, folder: DirectoryHandle): Promise<void>;
}

interface Level {
  folder: DirectoryHandle;
  base: ByteName;
  names: AsyncGenerator<ByteName>;
}

/** Files whose records are read together. */
const AT_ONCE = 32;

/**
 * The files below a folder that can be objects, in the order of their keys' bytes. Holds the folders on the way to where
 * it is, and lets go of the one it was given, too.
 */
async function* walkFiles(folder: DirectoryHandle, walk: Walk): AsyncGenerator<FoundFile, undefined> {
  const after = bytesOf(walk.after);
  // Half a surrogate pair would be taken for another character. No file name begins with one.
  const prefix = walk.prefix.isWellFormed() ? bytesOf(walk.prefix) : undefined;
  const levels: Level[] = [];
  let batch: ByteName[] = [];

  async function descend(into: DirectoryHandle, base: ByteName): Promise<void> {
    const wanted = (name: ByteName): boolean => {
      const path = base + name;
      if (prefix === undefined || !path.startsWith(prefix) || !canBeKey(path)) return false;
      return path > after || (name.endsWith("/") && after.startsWith(path));
    };
    levels.push({ folder: into, base, names: folderNames(into, wanted, walk.namesAtOnce) });
    await walk.onFolder?.(textOf(base), into);
  }

  async function* statBatch({ folder: from, base }: Level): AsyncGenerator<FoundFile> {
    const stats = batch.map(async (name) => ({
      key: textOf(base + name),
      stat: await unlessMissing(from.statFile(textOf(name))),
    }));
    batch = [];
    for (const { key, stat } of await Promise.all(stats)) if (stat) yield { key, stat };
  }

  try {
    await descend(folder, bytesOf(walk.base));
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      const { value: name, done } = await level.names.next();
      const isFile = !done && !name.endsWith("/");
      if (isFile) batch.push(name);
      if (!isFile || batch.length === AT_ONCE) yield* statBatch(level);
      if (done) await levels.pop()?.folder[Symbol.asyncDispose]();
      else if (!isFile) {
        const inner = await enter(level, name.slice(0, -1));
        if (inner) await descend(inner, level.base + name);
      }
    }
  } finally {
    for (const level of levels) await level.folder[Symbol.asyncDispose]();
  }
}

/** Undefined when it is gone. One that may not be read ends the walk: else what is in it would go unnoticed. */
async function enter({ folder, base }: Level, name: ByteName): Promise<DirectoryHandle | undefined> {
  try {
    return await unlessMissing(folder.enter(textOf(name)));
  } catch (error) {
    // The file system's own, on top of each volume: only the administrator may look into it.
    if (base === "" && name === "lost+found") return undefined;
    throw failedBy(error, `cannot list the folder ${textOf(base + name)} of the bucket`);
  }
}

function canBeKey(path: ByteName): boolean {
  const [first] = path.split("/", 1);
  return path.length <= OBJECT_KEY_MAX_BYTES && !isSidecar(first) && isUtf8(Buffer.from(path, "latin1"));
}

function bytesOf(text: string): ByteName {
  return Buffer.from(text).toString("latin1");
}

function textOf(name: ByteName): string {
  return Buffer.from(name, "latin1").toString();
}

/**
 * Names of files and folders as strings of their bytes (latin1), so that strings sort as the bytes do and a name that is
 * no UTF-8 is still a name. That of a folder ends with a slash: sorted so, the keys of a whole tree come in order
 * (`a-b`, `a/b`, `a0`).
 */
type ByteName = string;

/** A folder with more is read more than once, so that memory stays small. */
const NAMES_AT_ONCE = 50_000;

/**
 * The names that are wanted, in order. Not those of links and special files. What comes or goes meanwhile may be missed,
 * nothing else.
 */
async function* folderNames(
  folder: DirectoryHandle,
  wanted: (name: ByteName) => boolean,
  namesAtOnce = NAMES_AT_ONCE,
): AsyncGenerator<ByteName> {
  let last = "";
  for (;;) {
    const names = await firstNames(folder, { wanted: (name) => name > last && wanted(name), count: namesAtOnce });
    yield* names;
    if (names.length < namesAtOnce) return;
    last = names.at(-1) ?? last;
  }
}

async function firstNames(
  folder: DirectoryHandle,
  { wanted, count }: { wanted: (name: ByteName) => boolean; count: number },
): Promise<ByteName[]> {
  let names: ByteName[] = [];
  for await (const entry of await entriesOf(folder)) {
    const name = byteName(entry);
    if (name === undefined || !wanted(name)) continue;
    names.push(name);
    if (names.length >= 2 * count) names = names.sort().slice(0, count);
  }
  return names.sort().slice(0, count);
}

async function entriesOf(folder: DirectoryHandle): Promise<AsyncIterable<Dirent<Buffer>>> {
  // Node can do this and documents it, its types do not know.
  const encoding = "buffer" as BufferEncoding;
  return (await opendir(folder.path, { encoding, bufferSize: 256 })) as unknown as AsyncIterable<Dirent<Buffer>>;
}

function byteName(entry: Dirent<Buffer>): ByteName | undefined {
  if (entry.isFile()) return entry.name.toString("latin1");
  return entry.isDirectory() ? `${entry.name.toString("latin1")}/` : undefined;
}
