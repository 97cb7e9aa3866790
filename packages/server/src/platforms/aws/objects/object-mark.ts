import type { SeenObject } from "../../../model/source.ts";

/** What S3 says about the object it answered for. */
interface ToldObject {
  ETag?: string | undefined;
  LastModified?: Date | undefined;
}

/**
 * The entity tag and the time. The tag alone is mostly the MD5 of the bytes, and two files with one MD5 can be made on
 * purpose.
 */
export function markOf({ ETag, LastModified }: ToldObject): string {
  return `${ETag ?? ""} ${LastModified?.getTime() ?? ""}`;
}

export function etagOf(object: SeenObject): string {
  return object.mark.slice(0, object.mark.lastIndexOf(" "));
}

/** Never true of an object without an entity tag. */
export function isSame(told: ToldObject, object: SeenObject): boolean {
  return told.ETag !== undefined && markOf(told) === object.mark;
}

/** Whether its version names these bytes for ever. Objects from before a bucket had versions all share the version `null`. */
export function hasLastingVersion({ version }: SeenObject): boolean {
  return version !== undefined && version !== "null";
}
