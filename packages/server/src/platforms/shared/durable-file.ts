import { randomUUID } from "node:crypto";
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

/** Replaces a file that everybody may read; nobody ever reads half of it. */
export async function replaceFile(path: string, content: string): Promise<void> {
  const draft = draftOf(path);
  await writeSynced(draft, content, 0o644);
  await rename(draft, path);
}

/** A new name in a folder survives a power cut only when the folder is synced. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

async function writeSynced(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  await using file = await open(path, "wx", mode);
  await file.writeFile(content);
  await file.sync();
}

function draftOf(path: string): string {
  return `${path}.${randomUUID()}.draft`;
}
