import { link, lstat, rename, unlink } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import type { ActionOutcome } from "../../../deliver/object-actions.ts";
import type { ObjectRef, SeenObject } from "../../../model/source.ts";
import { type Buckets, digestOf, fileNameOf } from "./buckets.ts";
import { type DirectoryHandle, errorCode, type OpenFile, unless } from "./directory-handle.ts";
import { hasContentOf, reliableInMs, versionOf } from "./fingerprint.ts";
import { unlessMissing } from "./object-failure.ts";

export interface FoundVersion extends OpenFile {
  version: string;
}

/** Opens the file of the version that is named, else of the newest, when its version can be relied on. Undefined when there is none. */
export async function openVersion(
  buckets: Buckets,
  kept: KeptVersions,
  object: ObjectRef,
): Promise<FoundVersion | undefined> {
  const newest = await unlessMissing(openNewest(buckets, object));
  if (newest && (object.version ?? newest.version) === newest.version) return newest;
  await newest?.file.close();
  if (object.version === undefined) return undefined;
  const older = await kept.open(object, object.version);
  return older && { ...older, version: object.version };
}

/** The version of the newest file; undefined when there is none. */
export async function newestVersion(buckets: Buckets, object: ObjectRef): Promise<string | undefined> {
  await using parent = await unlessMissing(buckets.openParent(object));
  const stat = await parent?.statFile(fileNameOf(object));
  return stat && versionOf(stat);
}

async function openNewest(buckets: Buckets, object: ObjectRef): Promise<FoundVersion> {
  await using parent = await buckets.openParent(object);
  const { file } = await parent.openFile(fileNameOf(object));
  try {
    // Who has mapped the file into memory can write without a change to its record, until what was written is on disk.
    await file.datasync();
    const stat = await file.stat({ bigint: true });
    const waitMs = reliableInMs(stat, Date.now());
    if (waitMs > 0) await pause(waitMs);
    const reliable = waitMs > 0 ? await file.stat({ bigint: true }) : stat;
    return { file, stat: reliable, version: versionOf(reliable) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Older versions of objects: `.lazaret/versions/<hash of the key>/<version>`, each the very file that it was. One that was
 * written to since it was kept is no version any more.
 */
export interface KeptVersions {
  /** Undefined when that version is not kept. */
  open(object: ObjectRef, version: string): Promise<OpenFile | undefined>;
  has(object: ObjectRef, version: string): Promise<boolean>;
  /** Whether versions were ever kept in the bucket. */
  inUse(bucket: string): Promise<boolean>;
  /** Takes a file as a version of the object. */
  take(object: ObjectRef, path: string, version: string): Promise<void>;
  /** False when it was not kept. */
  remove(object: ObjectRef, version: string): Promise<boolean>;
}

export function keptVersions(buckets: Buckets): KeptVersions {
  const openKept = ({ bucket, key }: ObjectRef, options?: { make?: boolean }): Promise<DirectoryHandle> =>
    buckets.openSidecar(bucket, ["versions", digestOf(key)], options);

  async function within<T>(object: ObjectRef, use: (folder: DirectoryHandle) => Promise<T>): Promise<T> {
    await using folder = await openKept(object);
    return await use(folder);
  }

  return {
    async open(object, version) {
      const opened = await unlessMissing(within(object, (folder) => folder.openFile(version)));
      if (!opened || hasContentOf(version, opened.stat)) return opened;
      await opened.file.close();
      return undefined;
    },

    async has(object, version) {
      const stat = await unlessMissing(within(object, (folder) => folder.statFile(version)));
      return stat !== undefined && hasContentOf(version, stat);
    },

    async inUse(bucket) {
      await using folder = await unlessMissing(buckets.openSidecar(bucket, ["versions"]));
      return folder !== undefined;
    },

    async take(object, path, version) {
      await using folder = await openKept(object, { make: true });
      await rename(path, folder.at(version));
      await folder.sync();
    },

    async remove(object, version) {
      const removing = within(object, async (folder) => {
        await unlink(folder.at(version));
        await folder.sync();
        return true;
      });
      return (await unlessMissing(removing)) ?? false;
    },
  };
}

interface Deletion {
  seen: SeenObject;
  kept: KeptVersions;
  /** The folder that the newest version lies in, if there is one, and the one that files are moved to. */
  parent: DirectoryHandle | undefined;
  aside: DirectoryHandle;
}

/**
 * Deletes that version and no other. No system call removes a file only if it is the one we mean, so the newest version is
 * first moved to `.lazaret/deleting/`, checked there, where nobody replaces it, and put back if it is another. After a
 * crash in between the next call finds it there.
 */
export async function deleteVersion(buckets: Buckets, kept: KeptVersions, seen: SeenObject): Promise<ActionOutcome> {
  await using parent = await unlessMissing(buckets.openParent(seen));
  const newest = await parent?.statFile(fileNameOf(seen));
  const make = newest !== undefined && versionOf(newest) === seen.mark;
  await using aside = await unlessMissing(buckets.openSidecar(seen.bucket, ["deleting"], { make }));
  if (aside && (await deleteNewest({ seen, kept, parent, aside }))) return "done";
  if (await kept.remove(seen, seen.mark)) return "done";
  return (await parent?.statFile(fileNameOf(seen))) ? "changed" : "done";
}

/** False when the newest version is another, or there is none. */
async function deleteNewest(deletion: Deletion): Promise<boolean> {
  const { seen, parent, aside } = deletion;
  const finishedNow = await finish(deletion);
  const newest = await parent?.statFile(fileNameOf(seen));
  if (!parent || !newest || versionOf(newest) !== seen.mark) return finishedNow;
  await unless("ENOENT", rename(parent.at(fileNameOf(seen)), aside.at(asideName(seen))));
  const deleted = await finish(deletion, newest.ino);
  await parent.sync();
  return deleted;
}

/** Deletes the file that was moved aside, if it is the one we mean, else puts it back. */
async function finish({ seen, kept, parent, aside }: Deletion, inode?: bigint): Promise<boolean> {
  const path = aside.at(asideName(seen));
  const stat = await aside.statFile(asideName(seen));
  if (!stat) return false;
  if (hasContentOf(seen.mark, stat) && (inode ?? stat.ino) === stat.ino) {
    await unless("ENOENT", unlink(path));
    await aside.sync();
    return true;
  }
  const isBack = parent && (await putBack(path, parent.at(fileNameOf(seen))));
  // There is a newer one by now, so it is an older version.
  if (!isBack) await kept.take(seen, path, versionOf(stat));
  return false;
}

/** False when another file has that name by now. */
async function putBack(path: string, home: string): Promise<boolean> {
  try {
    await link(path, home);
    await unless("ENOENT", unlink(path));
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
  }
  // Where files cannot be linked, or not by us, there is a moment in which another file could come and be replaced.
  if (await unless("ENOENT", lstat(home))) return false;
  await rename(path, home);
  return true;
}

function asideName({ key, mark }: SeenObject): string {
  return `${digestOf(key)}.${mark}`;
}
