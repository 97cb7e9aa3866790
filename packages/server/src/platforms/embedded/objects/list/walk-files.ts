import { isUtf8 } from "node:buffer";
import type { BigIntStats } from "node:fs";
import { OBJECT_KEY_MAX_BYTES } from "@lazaret/contract";
import type { HeldFolder } from "../files/held-folder.ts";
import { failedBy, unlessMissing } from "../object-failure.ts";
import { isReserved } from "../object-names.ts";
import { type ByteName, folderNames } from "./folder-names.ts";

export interface FoundFile {
  key: string;
  stat: BigIntStats;
}

export interface Walk {
  /** Where `folder` lies in the bucket: "" or a path that ends with a slash. */
  base: string;
  /** How the keys begin, with that of the folder. */
  prefix: string;
  after: string;
  namesAtOnce?: number;
  /** Called for each folder before it is read. */
  onFolder?(base: string, folder: HeldFolder): Promise<void>;
}

interface Level {
  folder: HeldFolder;
  base: ByteName;
  names: AsyncGenerator<ByteName>;
}

/** Files that are looked at together. */
const AT_ONCE = 32;

/**
 * The files below a folder that can be objects, in the order of their keys' bytes. Holds the folders on the way to where
 * it is, and lets go of the one it was given, too.
 */
export async function* walkFiles(folder: HeldFolder, walk: Walk): AsyncGenerator<FoundFile, undefined> {
  const after = bytesOf(walk.after);
  // Half a surrogate pair would be taken for another character. No file name begins with one.
  const prefix = walk.prefix.isWellFormed() ? bytesOf(walk.prefix) : undefined;
  const levels: Level[] = [];
  let batch: ByteName[] = [];

  async function descend(into: HeldFolder, base: ByteName): Promise<void> {
    const wanted = (name: ByteName): boolean => {
      const path = base + name;
      if (prefix === undefined || !path.startsWith(prefix) || !canBeKey(path)) return false;
      return path > after || (name.endsWith("/") && after.startsWith(path));
    };
    levels.push({ folder: into, base, names: folderNames(into, wanted, walk.namesAtOnce) });
    await walk.onFolder?.(textOf(base), into);
  }

  async function* statBatch({ folder: from, base }: Level): AsyncGenerator<FoundFile> {
    const looks = batch.map(async (name) => ({
      key: textOf(base + name),
      stat: await unlessMissing(from.statFile(textOf(name))),
    }));
    batch = [];
    for (const { key, stat } of await Promise.all(looks)) if (stat) yield { key, stat };
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
async function enter({ folder, base }: Level, name: ByteName): Promise<HeldFolder | undefined> {
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
  return path.length <= OBJECT_KEY_MAX_BYTES && !isReserved(first) && isUtf8(Buffer.from(path, "latin1"));
}

function bytesOf(text: string): ByteName {
  return Buffer.from(text).toString("latin1");
}

function textOf(name: ByteName): string {
  return Buffer.from(name, "latin1").toString();
}
