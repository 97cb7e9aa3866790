import type { ListedObject } from "../fetch/object-lister.ts";

/** Which objects of a bucket are wanted. */
export interface ObjectFilters {
  prefix?: string;
  suffix?: string;
  minBytes?: number;
  maxBytes?: number;
  /** Milliseconds since 1970. */
  newerThan?: number;
}

export function wanted(object: ListedObject, filters: ObjectFilters): boolean {
  const { prefix = "", suffix = "", minBytes = 0, maxBytes = Number.POSITIVE_INFINITY, newerThan = 0 } = filters;
  return (
    object.key.startsWith(prefix) &&
    object.key.endsWith(suffix) &&
    object.sizeBytes >= minBytes &&
    object.sizeBytes <= maxBytes &&
    object.modifiedAt >= newerThan
  );
}
