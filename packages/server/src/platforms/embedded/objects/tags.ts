import { randomInt, randomUUID } from "node:crypto";
import { open, readdir, readFile, rename, unlink } from "node:fs/promises";
import type { ObjectTag } from "../../../deliver/object-actions.ts";
import type { ObjectRef } from "../../../model/source.ts";
import { type Buckets, digestOf } from "./buckets.ts";
import { type DirectoryHandle, unless } from "./directory-handle.ts";
import { unlessMissing } from "./object-failure.ts";

interface Tag {
  key: string;
  value: string;
}

/**
 * Tags of versions: `.lazaret/tags/<xxx>/<hash of the key>.<version>.<hash of the tag's key>.json`, one file for each, so
 * that several processes can set different ones at the same moment. What took the place of a version has none of its tags.
 */
export interface ObjectTags {
  /** Durable when it resolves. False, and nothing is written, when there is another value than `over` allows. */
  set(object: ObjectRef, version: string, tag: ObjectTag): Promise<boolean>;
  of(object: ObjectRef, version: string): Promise<Tag[]>;
  drop(object: ObjectRef, version: string): Promise<void>;
  /** Removes a few tags whose versions are gone. */
  tidy(bucket: string): Promise<void>;
}

/** What a tag's file says. */
interface Kept {
  key: string;
  version: string;
  tag: Tag;
}

const SHARD_DIGITS = 3;
const SHARDS = 16 ** SHARD_DIGITS;

/**
 * Files that are moved away or replaced by others leave their tags behind. So many are checked with each tag that is
 * set: then those left behind are at most about as many as the others, or as there are shards.
 */
const TIDIED_AT_ONCE = 4;

const TAG_FILE_MAX_BYTES = 64 * 1024;
const DRAFT_MAX_MS = 24 * 60 * 60 * 1000;

export function objectTags(
  buckets: Buckets,
  exists: (object: ObjectRef, version: string) => Promise<boolean>,
  random: (below: number) => number = randomInt,
): ObjectTags {
  const openShard = (bucket: string, shard: string, options?: { make?: boolean }): Promise<DirectoryHandle> =>
    buckets.openSidecar(bucket, ["tags", shard], options);

  /** The files of a version's tags; nothing where there is no folder. */
  async function withFiles(
    object: ObjectRef,
    version: string,
    use: (folder: DirectoryHandle, names: string[]) => Promise<void>,
  ): Promise<void> {
    const digest = digestOf(object.key);
    await using folder = await unlessMissing(openShard(object.bucket, shardOf(digest)));
    if (!folder) return;
    const names = await readdir(folder.path);
    await use(
      folder,
      names.filter((name) => name.startsWith(`${digest}.${version}.`)),
    );
  }

  return {
    async set({ bucket, key }, version, tag) {
      const digest = digestOf(key);
      await using folder = await openShard(bucket, shardOf(digest), { make: true });
      const kept: Kept = { key, version, tag: { key: tag.key, value: tag.value } };
      const name = `${digest}.${version}.${digestOf(JSON.stringify(tag.key)).slice(0, 16)}.json`;
      const before = (await readKept(folder, name))?.tag.value;
      if (tag.over !== undefined && before !== undefined && before !== tag.over) return false;
      // Where there is no room for the new value, the old one must not stay either.
      if (before !== undefined && before !== tag.value) await unless("ENOENT", unlink(folder.at(name)));
      await write(folder, name, JSON.stringify(kept));
      return true;
    },

    async of(object, version) {
      const tags: Tag[] = [];
      await withFiles(object, version, async (folder, names) => {
        for (const name of names) {
          const kept = await readKept(folder, name);
          if (kept) tags.push(kept.tag);
        }
      });
      return tags;
    },

    async drop(object, version) {
      await withFiles(object, version, async (folder, names) => {
        for (const name of names) await unless("ENOENT", unlink(folder.at(name)));
      });
    },

    async tidy(bucket) {
      const shard = random(SHARDS).toString(16).padStart(SHARD_DIGITS, "0");
      await using folder = await unlessMissing(openShard(bucket, shard));
      if (!folder) return;
      const names = await readdir(folder.path);
      for (let checked = 0; checked < TIDIED_AT_ONCE && names.length > 0; checked += 1) {
        const [name = ""] = names.splice(random(names.length), 1);
        const kept = await readKept(folder, name);
        const needed = kept ? await exists({ bucket, key: kept.key }, kept.version) : await isYoung(folder, name);
        if (!needed) await unless("ENOENT", unlink(folder.at(name)));
      }
    },
  };
}

function shardOf(digest: string): string {
  return digest.slice(0, SHARD_DIGITS);
}

/** Under another name first, so that nobody ever reads half of it. */
async function write(folder: DirectoryHandle, name: string, content: string): Promise<void> {
  const draft = folder.at(`${randomUUID()}.draft`);
  try {
    await using file = await open(draft, "wx", 0o644);
    await file.writeFile(content);
    await file.sync();
    await rename(draft, folder.at(name));
  } catch (error) {
    await unless("ENOENT", unlink(draft));
    throw error;
  }
  await folder.sync();
}

/** Undefined for what is not a tag's file, or went away. */
async function readKept(folder: DirectoryHandle, name: string): Promise<Kept | undefined> {
  const opened = await unlessMissing(folder.openFile(name));
  if (!opened) return undefined;
  await using file = opened.file;
  if (opened.stat.size > TAG_FILE_MAX_BYTES) return undefined;
  try {
    const kept: unknown = JSON.parse(await readFile(file, "utf8"));
    return isKept(kept) ? kept : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A draft that somebody may be writing. */
async function isYoung(folder: DirectoryHandle, name: string): Promise<boolean> {
  const stat = await folder.statFile(name);
  return stat !== undefined && Date.now() - Number(stat.mtimeMs) < DRAFT_MAX_MS;
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== "object" || value === null) return false;
  if (!("key" in value && "version" in value && "tag" in value)) return false;
  const { key, version, tag } = value;
  if (typeof key !== "string" || typeof version !== "string" || typeof tag !== "object" || tag === null) return false;
  return "key" in tag && typeof tag.key === "string" && "value" in tag && typeof tag.value === "string";
}
