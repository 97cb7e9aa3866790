import { setTimeout as pause } from "node:timers/promises";
import type { ObjectRef } from "../../../model/source.ts";
import type { KeptVersions } from "./beside/kept-versions.ts";
import { type Buckets, fileNameOf } from "./buckets.ts";
import { reliableInMs, versionOf } from "./files/fingerprint.ts";
import type { OpenFile } from "./files/held-folder.ts";
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
  await using parent = await unlessMissing(buckets.holdParent(object));
  const stat = await parent?.statFile(fileNameOf(object));
  return stat && versionOf(stat);
}

async function openNewest(buckets: Buckets, object: ObjectRef): Promise<FoundVersion> {
  await using parent = await buckets.holdParent(object);
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
