import { randomUUID } from "node:crypto";
import { link, open, rename, unlink } from "node:fs/promises";
import type { ObjectRef } from "../../src/model/source.ts";
import {
  type Buckets,
  type BucketsOptions,
  bucketFolders,
  digestOf,
  fileNameOf,
  problemWithNames,
} from "../../src/platforms/embedded/objects/buckets.ts";
import { unless } from "../../src/platforms/embedded/objects/directory-handle.ts";
import { versionOf } from "../../src/platforms/embedded/objects/fingerprint.ts";

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
  return {
    async put({ bucket, key }, bytes, { keepOlder = false } = {}) {
      const object = { bucket, key };
      const problem = problemWithNames(object);
      if (problem) throw new Error(`cannot put an object: ${problem}`);
      await using drafts = await buckets.openSidecar(bucket, ["drafts"], { make: true });
      const draft = drafts.at(randomUUID());
      try {
        await using file = await open(draft, "wx", 0o644);
        await file.writeFile(bytes);
        await file.sync();
        await using parent = await buckets.openParent(object, { make: true });
        if (keepOlder) await keepNewest(buckets, object);
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

const TRIES = 10;

/** Keeps the newest version, which then can be replaced. There is nothing to keep when there is no such object. */
async function keepNewest(buckets: Buckets, object: ObjectRef): Promise<void> {
  await using parent = await buckets.openParent(object);
  await using folder = await buckets.openSidecar(object.bucket, ["versions", digestOf(object.key)], { make: true });
  const name = fileNameOf(object);
  for (let tries = 0; tries < TRIES; tries += 1) {
    const stat = await parent.statFile(name);
    if (!stat) return;
    const version = versionOf(stat);
    // A second name for the same file: at no moment is there no object of that key.
    await unless("EEXIST", unless("ENOENT", link(parent.at(name), folder.at(version))));
    if ((await folder.statFile(version))?.ino === stat.ino) return await folder.sync();
    // It was replaced between the two steps.
    await unless("ENOENT", unlink(folder.at(version)));
  }
  throw new Error("cannot keep the newest version: it is replaced again and again");
}
