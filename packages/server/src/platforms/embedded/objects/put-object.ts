import { randomUUID } from "node:crypto";
import { open, rename, unlink } from "node:fs/promises";
import type { ObjectRef } from "../../../model/source.ts";
import { keptVersions } from "./beside/kept-versions.ts";
import { type BucketsOptions, bucketFolders, fileNameOf } from "./buckets.ts";
import { versionOf } from "./files/fingerprint.ts";
import { unless } from "./files/held-folder.ts";
import { problemWithNames } from "./object-names.ts";

export interface ObjectWriter {
  /**
   * Writes the newest version of an object and answers which it is. Others see all of it or nothing; it is durable when
   * this resolves. The version before is lost, unless it is to be kept. Of two that are put at the same moment one may be
   * lost all the same. Throws when there is no such bucket.
   */
  put(
    object: Pick<ObjectRef, "bucket" | "key">,
    bytes: Uint8Array | string | AsyncIterable<Uint8Array>,
    options?: { keepOlder?: boolean },
  ): Promise<string>;
}

/** Writes into the folders that `folderObjects` reads. Others may do so by any other means: `cp`, `mv`, a file server. */
export function objectWriter(options: BucketsOptions): ObjectWriter {
  const buckets = bucketFolders(options);
  const kept = keptVersions(buckets);
  return {
    async put({ bucket, key }, bytes, { keepOlder = false } = {}) {
      const object = { bucket, key };
      const problem = problemWithNames(object);
      if (problem) throw new Error(`cannot put an object: ${problem}`);
      await using drafts = await buckets.holdReserved(bucket, ["drafts"], { make: true });
      const draft = drafts.at(randomUUID());
      try {
        await using file = await open(draft, "wx", 0o644);
        await file.writeFile(bytes);
        await file.sync();
        await using parent = await buckets.holdParent(object, { make: true });
        if (keepOlder) await kept.keepNewest(object);
        await rename(draft, parent.at(fileNameOf(object)));
        await parent.sync();
        return versionOf(await file.stat({ bigint: true }));
      } catch (error) {
        await unless("ENOENT", unlink(draft));
        throw new Error(`cannot put ${JSON.stringify(key)} into the bucket ${bucket}`, { cause: error });
      }
    },
  };
}
