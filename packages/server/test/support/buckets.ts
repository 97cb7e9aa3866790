import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folderObjects } from "../../src/platforms/embedded/objects/objects.ts";

export interface Buckets {
  path: string;
  /** Puts a file where people would. */
  put(bucket: string, key: string, bytes: string | Uint8Array): void;
  tagsOf(bucket: string, key: string): Promise<Record<string, string>>;
}

/** Buckets in a folder, as an operator and the programs around us see them. */
export function bucketsIn(folder: string): Buckets {
  const { tagsOf } = folderObjects({
    bucketsDir: folder,
    linkBase: () => "",
    secretKey: new Uint8Array(32),
    now: Date.now,
  });
  return {
    path: folder,
    put(bucket, key, bytes) {
      const path = join(folder, bucket, key);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes);
    },
    tagsOf: (bucket, key) => tagsOf({ bucket, key }),
  };
}

/** The lines of a JSON lines file that are there so far. */
export function jsonLines<Line = Record<string, unknown>>(path: string): Line[] {
  try {
    return readFileSync(path, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
