import { hash } from "node:crypto";
import type { ObjectRef } from "../../../model/source.ts";
import { enterAll, type HeldFolder, holdFolder, missing } from "./files/held-folder.ts";
import { problemWithBucket, problemWithNames, RESERVED_FOLDER } from "./object-names.ts";

/** The folders of the buckets. Names that no object can have lead nowhere: such a thing counts as missing. */
export interface Buckets {
  hold(bucket: string): Promise<HeldFolder>;
  /** The folder in which the file of the object lies. */
  holdParent(object: ObjectRef, options?: { make?: boolean }): Promise<HeldFolder>;
  /** A folder of the store's own in that bucket. */
  holdReserved(bucket: string, names: readonly string[], options?: { make?: boolean }): Promise<HeldFolder>;
}

export interface BucketsOptions {
  /** A folder with a folder for each bucket. */
  bucketsDir: string;
  /** See `holdFolder`. */
  throughHandles?: boolean;
}

export function bucketFolders({ bucketsDir, throughHandles }: BucketsOptions): Buckets {
  async function hold(bucket: string): Promise<HeldFolder> {
    if (problemWithBucket(bucket)) throw missing();
    return await holdFolder(bucketsDir, bucket, throughHandles);
  }

  return {
    hold,
    async holdParent(object, options) {
      if (problemWithNames(object)) throw missing();
      return await enterAll(await hold(object.bucket), object.key.split("/").slice(0, -1), options);
    },
    async holdReserved(bucket, names, options) {
      return await enterAll(await hold(bucket), [RESERVED_FOLDER, ...names], options);
    },
  };
}

/** The name of the object's file in its folder. */
export function fileNameOf({ key }: ObjectRef): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

/** Stands for a key where the key itself would be too long for a file name. */
export function digestOf(key: string): string {
  return hash("sha256", key, "hex");
}
