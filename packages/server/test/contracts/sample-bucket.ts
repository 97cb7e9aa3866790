import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type FolderObjects, folderObjects } from "../../src/platforms/embedded/objects/objects.ts";
import type { WatchOptions } from "../../src/platforms/embedded/objects/watch-objects.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type ObjectWriter, objectWriter } from "../support/object-writer.ts";

/** A folder store with one bucket, and what somebody can do to it who has the folders at hand. */
export interface SampleBucket extends Disposable {
  objects: FolderObjects;
  put: ObjectWriter["put"];
  bucket: string;
  bucketsDir: string;
  /** Where something lies in the bucket, and where outside of all buckets. */
  path(key: string): string;
  outside(name: string): string;
  /** Puts a file where people would. */
  write(key: string, content: string | Uint8Array): void;
  /** Files and folders below that this process has open. */
  openPaths(): string[];
}

export interface SampleBucketOptions {
  throughHandles?: boolean;
  watch?: WatchOptions;
  now?: () => number;
}

export function sampleBucket({ now = Date.now, ...options }: SampleBucketOptions = {}): SampleBucket {
  const folder = temporaryFolder();
  const bucketsDir = join(folder.path, "buckets");
  const bucket = "uploads";
  const path = (key: string): string => join(bucketsDir, bucket, key);
  const outside = (name: string): string => join(folder.path, "outside", name);
  mkdirSync(path(""), { recursive: true });
  mkdirSync(outside(""));
  const shared = { ...options, bucketsDir };
  return {
    objects: folderObjects({ ...shared, linkBase: () => "https://lazaret.example", secretKey: Buffer.alloc(32), now }),
    put: objectWriter(shared).put,
    bucket,
    bucketsDir,
    path,
    outside,
    write(key, content) {
      mkdirSync(dirname(path(key)), { recursive: true });
      writeFileSync(path(key), content);
    },
    openPaths: () => openBelow(folder.path),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

function openBelow(folder: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path] : [];
    } catch {
      // The one by which we look.
      return [];
    }
  });
}
