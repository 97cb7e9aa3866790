import { randomBytes } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { writeOnce } from "../shared/durable-file.ts";

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

/** Made once; all later calls, also those of other processes at the same moment, answer the same. */
export async function makeSecretKey(path: string): Promise<Uint8Array> {
  await writeOnce(path, randomBytes(KEY_BYTES));
  const key = await readSecretKey(path);
  if (!key) throw new Error("it vanished");
  return key;
}
