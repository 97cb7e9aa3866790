import type { ObjectActions } from "../../../deliver/object-actions.ts";
import type { ObjectLister, ObjectWatcher } from "../../../fetch/object-lister.ts";
import type { ObjectReader } from "../../../fetch/object-reader.ts";
import type { ObjectRef } from "../../../model/source.ts";
import { type BucketsOptions, bucketFolders, problemWithNames } from "./buckets.ts";
import type { OpenFile } from "./directory-handle.ts";
import { versionOf } from "./fingerprint.ts";
import { listObjects } from "./list-objects.ts";
import { changedMeanwhile, failedBy, noSuchObject } from "./object-failure.ts";
import { objectLinks } from "./object-link.ts";
import { objectTags } from "./tags.ts";
import { deleteVersion, type FoundVersion, keptVersions, newestVersion, openVersion } from "./versions.ts";
import { type WatchOptions, watchObjects } from "./watch-objects.ts";

export interface FolderObjectsOptions extends BucketsOptions {
  /** Where the service can be reached from outside; asked anew for each link. */
  linkBase: () => string;
  /** The installation's key. What signs links is derived from it. */
  secretKey: Uint8Array;
  now: () => number;
  watch?: WatchOptions;
}

export interface FolderObjects extends ObjectReader, ObjectActions, ObjectLister, ObjectWatcher {
  /** What a link's path and query lead to, beginning with `/objects/`; undefined for what is no good link, or no more. */
  checkLink(pathAndQuery: string): ObjectRef | undefined;
  /** The tags of the version that is named, else of the newest. */
  tagsOf(object: ObjectRef): Promise<Record<string, string>>;
}

/**
 * Objects as plain files: `<bucketsDir>/<bucket>/<key>`. Anybody may put them there by any means; a bucket is there when
 * its folder is. Links, pipes and devices are no objects, and nothing outside a bucket's folder is ever reached.
 *
 * The version of an object is known by its file's record (`versionOf`), so that whatever is done to a file makes it another
 * version, with none of the tags. Older versions are there only if they were kept when the file was replaced (`put`); a
 * bucket where none ever was is unversioned, and its versions are shown to nobody. When
 * the newest is deleted, older ones can still be read by their version, but none becomes the newest: the key has no object
 * until a file is put there again.
 *
 * Who can write into a bucket's folder can write into `.lazaret` in it, too, unless rights on the folders forbid it.
 */
export function folderObjects(options: FolderObjectsOptions): FolderObjects {
  const { linkBase, secretKey, now } = options;
  const buckets = bucketFolders(options);
  const kept = keptVersions(buckets);
  const exists = async (object: ObjectRef, version: string): Promise<boolean> =>
    (await newestVersion(buckets, object)) === version || (await kept.has(object, version));
  const tags = objectTags(buckets, exists);
  const links = objectLinks({ secretKey, now });

  async function open(object: ObjectRef): Promise<FoundVersion> {
    const problem = problemWithNames(object);
    if (problem) throw noSuchObject(problem);
    const found = await openVersion(buckets, kept, object).catch((error) => {
      throw failedBy(error, "cannot read the object");
    });
    if (!found) throw noSuchObject();
    return found;
  }

  return {
    problemWith: problemWithNames,

    async open({ bucket, key, version: asked }, signal) {
      signal.throwIfAborted();
      const { file, stat, version } = await open({ bucket, key, ...(asked !== undefined && { version: asked }) });
      await file.close();
      const unversioned = !(await kept.inUse(bucket));
      const seen = { bucket, key, version, mark: version, ...(unversioned && { unversioned }) };
      const reopen = async (): Promise<FoundVersion> => {
        const found = await openVersion(buckets, kept, seen);
        if (!found) throw changedMeanwhile();
        return found;
      };
      return { bytes: fileBytes(reopen, signal), announcedBytes: Number(stat.size), object: seen };
    },

    async link(object, forSeconds) {
      const problem = problemWithNames(object);
      if (problem) throw noSuchObject(problem);
      return `${linkBase().replace(/\/+$/, "")}${links.make(object, forSeconds)}`;
    },
    checkLink: links.check,

    async tag(object, tag) {
      try {
        if (!(await exists(object, object.mark))) return "changed";
        const set = await tags.set(object, object.mark, tag);
        if (!set) return "kept";
      } catch (error) {
        throw failedAction("tag", object, error);
      }
      // What cannot be tidied now is tidied another time.
      await tags.tidy(object.bucket).catch(() => {});
      return "done";
    },

    async delete(object) {
      try {
        const outcome = await deleteVersion(buckets, kept, object);
        if (outcome === "done") await tags.drop(object, object.mark);
        return outcome;
      } catch (error) {
        throw failedAction("delete", object, error);
      }
    },

    list: (bucket, listOptions) => listObjects(buckets, bucket, listOptions),
    watch: (bucket, signal) => watchObjects(buckets, { bucket, ...options.watch }, signal),

    async tagsOf(object) {
      const version = object.version ?? (await newestVersion(buckets, object));
      const all = version === undefined ? [] : await tags.of(object, version);
      return Object.fromEntries(all.map(({ key, value }) => [key, value]));
    },
  };
}

function failedAction(attempt: string, { bucket, key }: ObjectRef, cause: unknown): Error {
  return new Error(`cannot ${attempt} ${JSON.stringify(key)} in the bucket ${bucket}`, { cause });
}

const CHUNK_BYTES = 256 * 1024;

/**
 * The bytes of a file, to be read once, each chunk when it is asked for. The file is opened with the first, so that bytes
 * nobody reads hold nothing open, and closed after the last, when the reader leaves, or when the signal is aborted.
 * Ends only when the file still is, after its last byte, the one that was opened; else throws `SourceFailed`.
 */
function fileBytes(open: () => Promise<OpenFile>, signal: AbortSignal): AsyncIterable<Uint8Array> {
  const reading = read(open);
  const stop = (): void => void reading.return(undefined).catch(() => {});
  const forget = (): void => signal.removeEventListener("abort", stop);
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      signal.throwIfAborted();
      signal.addEventListener("abort", stop);
      const next = await reading.next().catch((error) => {
        forget();
        throw error;
      });
      if (next.done) forget();
      // A reading that was stopped would end as if the file did.
      signal.throwIfAborted();
      return next;
    },
    return() {
      forget();
      return reading.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

async function* read(open: () => Promise<OpenFile>): AsyncGenerator<Uint8Array, undefined> {
  try {
    const { file, stat } = await open();
    await using _ = file;
    let left = Number(stat.size);
    while (left > 0) {
      const chunk = Buffer.allocUnsafe(Math.min(left, CHUNK_BYTES));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) throw changedMeanwhile();
      left -= bytesRead;
      // Before the last piece is given away, so that who counts bytes does not take it for the end.
      if (left === 0) await mustBe(stat, file);
      yield chunk.subarray(0, bytesRead);
    }
    await mustBe(stat, file);
    return undefined;
  } catch (error) {
    throw failedBy(error, "cannot read the object");
  }
}

async function mustBe(stat: OpenFile["stat"], file: OpenFile["file"]): Promise<void> {
  if (versionOf(await file.stat({ bigint: true })) !== versionOf(stat)) throw changedMeanwhile();
}
