import { BUCKET_MAX_CHARACTERS, OBJECT_KEY_MAX_BYTES } from "@lazaret/contract";
import type { ObjectRef } from "../../../model/source.ts";
import { isVersion } from "./files/fingerprint.ts";

/** In each bucket: where tags, older versions and files on their way are kept. No object is in it. */
export const RESERVED_FOLDER = ".lazaret";

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

export function problemWithBucket(bucket: string): string | undefined {
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
  if (isReserved(segments[0])) return `key begins with ${RESERVED_FOLDER}, which the store keeps for itself`;
  return undefined;
}

/** In any case of letters: some file systems do not tell them apart. */
export function isReserved(firstSegment: string | undefined): boolean {
  return firstSegment?.toLowerCase() === RESERVED_FOLDER;
}
