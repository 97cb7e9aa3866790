import { hash } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ObjectFilters } from "./filters.ts";

/** How far a pass over a bucket has come, so that one that was interrupted goes on where it was. */
export interface Bookmark {
  /** The key up to which everything was scanned; undefined when there is no pass to go on with. */
  read(): Promise<string | undefined>;
  write(key: string): Promise<void>;
  /** The pass is finished, or is to start anew. */
  clear(): Promise<void>;
}

/** One file in the data folder for each bucket and set of filters. */
export function bookmarkFile(dataDir: string, bucket: string, filters: ObjectFilters): Bookmark {
  const path = join(dataDir, "guard", `${hash("sha256", JSON.stringify([bucket, filters])).slice(0, 32)}.json`);
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      return text === undefined ? undefined : keyIn(text);
    },

    async write(key) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const next = `${path}.next`;
      const file = await open(next, "w", 0o600);
      try {
        await file.writeFile(JSON.stringify({ bucket, key }));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(next, path);
    },

    clear: () => rm(path, { force: true }),
  };
}

/** A file that cannot be understood is as good as none: the pass starts anew, and scans some objects again. */
function keyIn(text: string): string | undefined {
  try {
    const { key } = JSON.parse(text) as { key?: unknown };
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}
