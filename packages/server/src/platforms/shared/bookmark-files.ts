import { hash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Bookmarks, reachedIn } from "../../guard/bookmarks.ts";
import { makeFolder, replaceFile } from "./durable-file.ts";

/** Files in the data folder, for their owner only. */
export function bookmarkFiles(dataDir: string): Bookmarks {
  const folder = join(dataDir, "guard");
  return {
    of(bucket, filters) {
      const path = join(folder, `${hash("sha256", JSON.stringify([bucket, filters])).slice(0, 32)}.json`);
      return {
        async read() {
          const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
            if (error.code === "ENOENT") return undefined;
            throw error;
          });
          return text === undefined ? undefined : reachedIn(text);
        },

        async write({ key, startedAt }) {
          makeFolder(folder, 0o700);
          await replaceFile(path, JSON.stringify({ bucket, key, startedAt }), 0o600);
        },

        clear: () => rm(path, { force: true }),
      };
    },
  };
}
