import type { ListedObject } from "../../../../fetch/object-lister.ts";
import type { Buckets } from "../buckets.ts";
import { versionOf } from "../files/fingerprint.ts";
import { enterAll } from "../files/held-folder.ts";
import { failedBy, unlessMissing } from "../object-failure.ts";
import { type FoundFile, type Walk, walkFiles } from "./walk-files.ts";

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
    const root = await buckets.hold(bucket);
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
