import { link, lstat, rename, unlink } from "node:fs/promises";
import type { ActionOutcome } from "../../../../deliver/object-actions.ts";
import type { SeenObject } from "../../../../model/source.ts";
import { type Buckets, digestOf, fileNameOf } from "../buckets.ts";
import { hasContentOf, versionOf } from "../files/fingerprint.ts";
import { errorCode, type HeldFolder, unless } from "../files/held-folder.ts";
import { unlessMissing } from "../object-failure.ts";
import type { KeptVersions } from "./kept-versions.ts";

interface Deletion {
  seen: SeenObject;
  kept: KeptVersions;
  /** The folder that the newest version lies in, if there is one, and the one that files are moved to. */
  parent: HeldFolder | undefined;
  aside: HeldFolder;
}

/**
 * Deletes that version and no other. No system call removes a file only if it is the one we mean, so the newest version is
 * first moved to `.lazaret/deleting/`, looked at there, where nobody replaces it, and put back if it is another. After a
 * crash in between the next call finds it there.
 */
export async function deleteVersion(buckets: Buckets, kept: KeptVersions, seen: SeenObject): Promise<ActionOutcome> {
  await using parent = await unlessMissing(buckets.holdParent(seen));
  const newest = await parent?.statFile(fileNameOf(seen));
  const make = newest !== undefined && versionOf(newest) === seen.mark;
  await using aside = await unlessMissing(buckets.holdReserved(seen.bucket, ["deleting"], { make }));
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
