import { randomUUID } from "node:crypto";
import { mkdirSync, statSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Gives a file its content unless it is there already, also when several processes try at the same moment. It is written
 * and synced under another name first, so that nobody ever reads half of it; then linked, which fails when somebody was
 * faster.
 */
export async function writeOnce(path: string, content: string | Uint8Array): Promise<void> {
  const draft = draftOf(path);
  try {
    await writeSynced(draft, content, 0o600);
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
}

/** Replaces a file, which everybody may read if nothing else is said; nobody ever reads half of it. */
export async function replaceFile(path: string, content: string, mode = 0o644): Promise<void> {
  const draft = draftOf(path);
  await writeSynced(draft, content, mode);
  await rename(draft, path);
}

/** A new name in a folder survives a power cut only when the folder is synced. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

/**
 * Makes a folder, and those above it, unless it is there. Each is tried twice at most: Node's own `recursive` never ends where a
 * folder is there and nothing can be made in it, as in /proc.
 */
export function makeFolder(path: string, mode?: number): void {
  if (madeFolder(path, mode)) return;
  makeFolder(dirname(path), mode);
  if (madeFolder(path, mode)) return;
  throw Object.assign(new Error(`cannot make a folder in ${dirname(path)}`), { code: "ENOENT" });
}

/** False when the folder above is missing, or says that it is. */
function madeFolder(path: string, mode: number | undefined): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return true;
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Another process may have been faster.
    if (code === "EEXIST" && statSync(path, { throwIfNoEntry: false })?.isDirectory()) return true;
    if (code === "ENOENT" && dirname(path) !== path) return false;
    throw error;
  }
}

async function writeSynced(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  await using file = await open(path, "wx", mode);
  await file.writeFile(content);
  await file.sync();
}

function draftOf(path: string): string {
  return `${path}.${randomUUID()}.draft`;
}
