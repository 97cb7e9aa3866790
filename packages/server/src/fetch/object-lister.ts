import type { ObjectRef } from "../model/source.ts";

/** Lists what is in a bucket, for guarding it. Each adapter passes test/contracts/object-lister.ts. */
export interface ObjectLister {
  /**
   * The newest version of each object whose key has the prefix, in the order of the keys' UTF-8 bytes, from after `after` on.
   * Throws `SourceFailed` when there is no such bucket or it may not be listed. What comes or goes meanwhile may be missed.
   */
  list(bucket: string, options?: { prefix?: string; after?: string }): AsyncIterable<ListedObject>;
}

export interface ListedObject extends ObjectRef {
  sizeBytes: number;
  /** Milliseconds since 1970. */
  modifiedAt: number;
}

/** What a store that can report new objects has as well. */
export interface ObjectWatcher {
  /**
   * Objects that came or changed after it was called, each when nobody has written to it for a moment. May report one twice;
   * may be late, never forgets one. Ends when the signal is aborted.
   */
  watch(bucket: string, signal: AbortSignal): AsyncIterable<ListedObject>;
}
