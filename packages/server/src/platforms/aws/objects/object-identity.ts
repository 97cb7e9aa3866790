import { BUCKET_MAX_CHARACTERS, OBJECT_KEY_MAX_BYTES, OBJECT_VERSION_MAX_CHARACTERS } from "@lazaret/contract";
import type { ObjectRef, SeenObject } from "../../../model/source.ts";

/**
 * Only what no server could have, or what would lead a request elsewhere: a bucket stands in the address, where dots and
 * slashes mean something else, and the SDK takes an ARN for the address of another host. AWS is stricter about
 * buckets than others; what it does not like it answers itself.
 */
export function problemWithNames({ bucket, key, version }: ObjectRef): string | undefined {
  return problemWithBucket(bucket) ?? problemWithKey(key) ?? problemWithVersion(version);
}

export function problemWithBucket(bucket: string): string | undefined {
  if (bucket === "." || bucket === "..") return "bucket must not be a dot or two";
  if (/[/\\\p{Cc}]/u.test(bucket)) return "bucket must have no slashes and no control characters";
  if (/^arn:/i.test(bucket)) return "bucket must be a name, not an ARN";
  if (bucket.length > BUCKET_MAX_CHARACTERS) return `bucket is longer than ${BUCKET_MAX_CHARACTERS} characters`;
  return problemWithText(bucket, "bucket");
}

function problemWithKey(key: string): string | undefined {
  if (Buffer.byteLength(key) > OBJECT_KEY_MAX_BYTES) return `key is longer than ${OBJECT_KEY_MAX_BYTES} bytes`;
  return problemWithText(key, "key");
}

function problemWithVersion(version: string | undefined): string | undefined {
  if (version === undefined) return undefined;
  if (version.length > OBJECT_VERSION_MAX_CHARACTERS) {
    return `version is longer than ${OBJECT_VERSION_MAX_CHARACTERS} characters`;
  }
  return problemWithText(version, "version");
}

function problemWithText(text: string, name: string): string | undefined {
  if (text === "") return `${name} is empty`;
  return text.isWellFormed() ? undefined : `${name} has half a surrogate pair in it`;
}

/** In the words of the SDK. */
export function namedObject({ bucket, key, version }: ObjectRef): { Bucket: string; Key: string; VersionId?: string } {
  return { Bucket: bucket, Key: key, ...(version === undefined ? {} : { VersionId: version }) };
}

/** What S3 says about the object it answered for. */
interface ObjectHead {
  ETag?: string | undefined;
  LastModified?: Date | undefined;
}

/**
 * The entity tag and the time. The tag alone is mostly the MD5 of the bytes, and two files with one MD5 can be made on
 * purpose.
 */
export function markOf({ ETag, LastModified }: ObjectHead): string {
  return `${ETag ?? ""} ${LastModified?.getTime() ?? ""}`;
}

export function etagOf(object: SeenObject): string {
  return object.mark.slice(0, object.mark.lastIndexOf(" "));
}

/** Never true of an object without an entity tag. */
export function isSame(current: ObjectHead, object: SeenObject): boolean {
  return current.ETag !== undefined && markOf(current) === object.mark;
}

/** Whether its version names these bytes for ever. Objects from before a bucket had versions all share the version `null`. */
export function hasLastingVersion({ version }: SeenObject): boolean {
  return version !== undefined && version !== "null";
}
