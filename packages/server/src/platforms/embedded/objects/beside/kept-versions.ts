import { link, rename, unlink } from "node:fs/promises";
import type { ObjectRef } from "../../../../model/source.ts";
import { type Buckets, digestOf, fileNameOf } from "../buckets.ts";
import { hasContentOf, versionOf } from "../files/fingerprint.ts";
import { type HeldFolder, type OpenFile, unless } from "../files/held-folder.ts";
import { unlessMissing } from "../object-failure.ts";

/**
 * Older versions of objects: `.lazaret/versions/<hash of the key>/<version>`, each the very file that it was. One that was
 * written to since it was kept is no version any more.
 */
export interface KeptVersions {
  /** Undefined when that version is not kept. */
  open(object: ObjectRef, version: string): Promise<OpenFile | undefined>;
  has(object: ObjectRef, version: string): Promise<boolean>;
  /** Whether versions were ever kept in the bucket. */
  inUse(bucket: string): Promise<boolean>;
  /** Keeps the newest version, which then can be replaced. There is nothing to keep when there is no such object. */
  keepNewest(object: ObjectRef): Promise<void>;
  /** Takes a file as a version of the object. */
  take(object: ObjectRef, path: string, version: string): Promise<void>;
  /** False when it was not kept. */
  remove(object: ObjectRef, version: string): Promise<boolean>;
}

const TRIES = 10;

export function keptVersions(buckets: Buckets): KeptVersions {
  const hold = ({ bucket, key }: ObjectRef, options?: { make?: boolean }): Promise<HeldFolder> =>
    buckets.holdReserved(bucket, ["versions", digestOf(key)], options);

  async function within<T>(object: ObjectRef, use: (folder: HeldFolder) => Promise<T>): Promise<T> {
    await using folder = await hold(object);
    return await use(folder);
  }

  return {
    async open(object, version) {
      const opened = await unlessMissing(within(object, (folder) => folder.openFile(version)));
      if (!opened || hasContentOf(version, opened.stat)) return opened;
      await opened.file.close();
      return undefined;
    },

    async has(object, version) {
      const stat = await unlessMissing(within(object, (folder) => folder.statFile(version)));
      return stat !== undefined && hasContentOf(version, stat);
    },

    async inUse(bucket) {
      await using folder = await unlessMissing(buckets.holdReserved(bucket, ["versions"]));
      return folder !== undefined;
    },

    async keepNewest(object) {
      await using parent = await buckets.holdParent(object);
      await using folder = await hold(object, { make: true });
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
    },

    async take(object, path, version) {
      await using folder = await hold(object, { make: true });
      await rename(path, folder.at(version));
      await folder.sync();
    },

    async remove(object, version) {
      const removing = within(object, async (folder) => {
        await unlink(folder.at(version));
        await folder.sync();
        return true;
      });
      return (await unlessMissing(removing)) ?? false;
    },
  };
}
