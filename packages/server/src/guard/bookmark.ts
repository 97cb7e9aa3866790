import { hash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

/** How far a pass over a bucket has come, so that one that was interrupted goes on where it was. */
export interface Bookmark {
  /** Undefined when there is no pass to go on with. */
  read(): Promise<Reached | undefined>;
  write(reached: Reached): Promise<void>;
  /** The pass is finished, or is to start anew. */
  clear(): Promise<void>;
}

export interface Reached {
  /** Up to this key everything was scanned that was there when the pass began. */
  key: string;
  /** When that was, in milliseconds since 1970. */
  startedAt: number;
}

/** One file in the data folder for each bucket and set of filters. */
export function bookmarkFile(dataDir: string, bucket: string, filters: object): Bookmark {
  const path = join(dataDir, "guard", `${hash("sha256", JSON.stringify([bucket, filters])).slice(0, 32)}.json`);
  return {
    async read() {
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      return text === undefined ? undefined : reachedIn(text);
    },

    async write({ key, startedAt }) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // A name of its own: another run may be writing, too.
      const next = `${path}.${randomUUID()}`;
      const file = await open(next, "w", 0o600);
      try {
        await file.writeFile(JSON.stringify({ bucket, key, startedAt }));
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
function reachedIn(text: string): Reached | undefined {
  try {
    const { key, startedAt } = JSON.parse(text) as Partial<Record<keyof Reached, unknown>>;
    return typeof key === "string" && typeof startedAt === "number" ? { key, startedAt } : undefined;
  } catch {
    return undefined;
  }
}
