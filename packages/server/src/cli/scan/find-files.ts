import type { Dirent } from "node:fs";
import { lstat, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ScanItem } from "./scanned.ts";

export interface FileFilters {
  recursive: boolean;
  /** Of files in folders only those, if there are any. Paths are relative to the folder, with slashes. */
  include: readonly ((path: string) => boolean)[];
  /** Files and whole folders that are passed over. */
  exclude: readonly ((path: string) => boolean)[];
  /** Told for each folder that is looked into. */
  onFolder?: () => void;
}

/**
 * A file itself, or the files below a folder, in the order of their names. What was named is always scanned, and
 * followed when it is a link; inside folders links, sockets and the like are passed over: they are no content.
 * Nothing is read but names and sizes.
 */
export async function* findFiles(path: string, filters: FileFilters): AsyncGenerator<ScanItem> {
  let named: Awaited<ReturnType<typeof stat>>;
  try {
    named = await stat(path);
  } catch (error) {
    yield unreadable(path, error);
    return;
  }
  if (named.isDirectory()) yield* filesBelow({ path, name: "" }, filters);
  else yield { kind: "file", name: path, path, sizeBytes: named.size };
}

/** A folder: where it is, and what its name is below the one that was named. */
interface Folder {
  path: string;
  name: string;
}

async function* filesBelow(folder: Folder, filters: FileFilters): AsyncGenerator<ScanItem> {
  filters.onFolder?.();
  let entries: Dirent[];
  try {
    entries = await readdir(folder.path, { withFileTypes: true });
  } catch (error) {
    yield unreadable(folder.path, error);
    return;
  }
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder.path, entry.name);
    const name = folder.name === "" ? entry.name : `${folder.name}/${entry.name}`;
    if (filters.exclude.some((matches) => matches(name))) continue;
    if (entry.isDirectory()) {
      if (filters.recursive) yield* filesBelow({ path, name }, filters);
    } else if (entry.isFile() && (filters.include.length === 0 || filters.include.some((matches) => matches(name)))) {
      yield await fileAt(path);
    }
  }
}

async function fileAt(path: string): Promise<ScanItem> {
  try {
    return { kind: "file", name: path, path, sizeBytes: (await lstat(path)).size };
  } catch (error) {
    return unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): ScanItem {
  return { kind: "unreadable", name: path, reason: error instanceof Error ? error.message : String(error) };
}
