import { randomBytes, randomUUID } from "node:crypto";
import { chmod, link, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";

const KEY_BYTES = 32;

/** Undefined when there is none yet. Throws when there is something else under that name. */
export async function readSecretKey(path: string): Promise<Uint8Array | undefined> {
  const key = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (key && key.length !== KEY_BYTES) throw new Error(`it has ${key.length} bytes, not ${KEY_BYTES}`);
  // A backup may have been restored with other rights. Where they cannot be changed the key still serves.
  if (key) await chmod(path, 0o600).catch(() => {});
  return key;
}

/**
 * Made once; all later calls, also those of other processes at the same moment, answer the same. It is written and
 * synced under another name first, so that nobody ever reads half a key; then linked, which fails when another process
 * was faster.
 */
export async function makeSecretKey(path: string): Promise<Uint8Array> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await writeSynced(draft, randomBytes(KEY_BYTES));
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
  const key = await readSecretKey(path);
  if (!key) throw new Error("it vanished");
  return key;
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(bytes);
  await file.sync();
}

/** A new name in a folder survives a power cut only when the folder is synced. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}
