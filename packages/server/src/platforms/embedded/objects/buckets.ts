import { hash } from "node:crypto";
import { BUCKET_MAX_CHARACTERS, OBJECT_KEY_MAX_BYTES } from "@lazaret/contract";
import type { ObjectRef } from "../../../model/source.ts";
import { type DirectoryHandle, enterAll, missing, openDirectory } from "./directory-handle.ts";
import { isVersion } from "./fingerprint.ts";

/** The folders of the buckets. Names that no object can have lead nowhere: such a thing counts as missing. */
export interface Buckets {
  open(bucket: string): Promise<DirectoryHandle>;
  /** The folder in which the file of the object lies. */
  openParent(object: ObjectRef, options?: { make?: boolean }): Promise<DirectoryHandle>;
  /** A folder of the store's own in that bucket, in `.lazaret/`, for what belongs to objects and is none. */
  openSidecar(bucket: string, names: readonly string[], options?: { make?: boolean }): Promise<DirectoryHandle>;
}

export interface BucketsOptions {
  /** A folder with a folder for each bucket. */
  bucketsDir: string;
  /** See `openDirectory`. */
  throughHandles?: boolean;
}

export function bucketFolders({ bucketsDir, throughHandles }: BucketsOptions): Buckets {
  async function openBucket(bucket: string): Promise<DirectoryHandle> {
    if (problemWithBucket(bucket)) throw missing();
    return await openDirectory(bucketsDir, bucket, throughHandles);
  }

  return {
    open: openBucket,
    async openParent(object, options) {
      if (problemWithNames(object)) throw missing();
      return await enterAll(await openBucket(object.bucket), object.key.split("/").slice(0, -1), options);
    },
    async openSidecar(bucket, names, options) {
      return await enterAll(await openBucket(bucket), [SIDECAR_FOLDER, ...names], options);
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

/** In each bucket: where tags, older versions and files on their way are kept. No object is in it. */
const SIDECAR_FOLDER = ".lazaret";

/** File systems have no longer names. */
const SEGMENT_MAX_BYTES = 255;

/**
 * Why there can be no such object, or undefined. A key is a relative path below the bucket's folder, in the one way it can
 * be written. All characters but NUL are fine in it: a backslash, a newline or a percent sign are nothing special to POSIX.
 */
export function problemWithNames({ bucket, key, version }: ObjectRef): string | undefined {
  const problem = problemWithBucket(bucket) ?? problemWithKey(key);
  if (problem) return problem;
  if (version !== undefined && !isVersion(version)) return "version is not one that this store gives";
  return undefined;
}

function problemWithBucket(bucket: string): string | undefined {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(bucket) && bucket.length <= BUCKET_MAX_CHARACTERS) return undefined;
  return `bucket must be 1 to ${BUCKET_MAX_CHARACTERS} letters, digits, dots, hyphens or underscores, and begin with a letter or digit`;
}

function problemWithKey(key: string): string | undefined {
  if (key === "") return "key is empty";
  if (key.includes("\0")) return "key has a NUL in it";
  if (!key.isWellFormed()) return "key has half a surrogate pair in it, which no file name can have";
  if (Buffer.byteLength(key) > OBJECT_KEY_MAX_BYTES) return `key is longer than ${OBJECT_KEY_MAX_BYTES} bytes`;
  const segments = key.split("/");
  if (segments.includes("")) return "key must not begin or end with a slash, or have two in a row";
  if (segments.includes(".") || segments.includes("..")) return "key must not have . or .. between slashes";
  if (segments.some((segment) => Buffer.byteLength(segment) > SEGMENT_MAX_BYTES)) {
    return `key has more than ${SEGMENT_MAX_BYTES} bytes between two slashes`;
  }
  if (isSidecar(segments[0])) return `key begins with ${SIDECAR_FOLDER}, which the store keeps for itself`;
  return undefined;
}

/** In any case of letters: some file systems take them for the same. */
export function isSidecar(firstSegment: string | undefined): boolean {
  return firstSegment?.toLowerCase() === SIDECAR_FOLDER;
}
