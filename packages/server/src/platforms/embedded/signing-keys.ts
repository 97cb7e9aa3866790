import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  makePrivatePem,
  publicKeyParameters,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";

export interface KeyFilesOptions {
  dataDir: string;
  /** ScannerStackName: part of the names of the public keys. */
  stackName: string;
}

const KEY_FILE = "callback-signing-key.pem";
/** Below it, parameters are files: their names are paths. */
const PARAMETERS = "parameters";

/** The key pair as files in the data folder: the private key for the owner only, the public ones for everybody. */
export function keyFiles({ dataDir, stackName }: KeyFilesOptions): SigningKeys {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(stackName)) {
    throw new Error(`cannot name the callback keys after ${JSON.stringify(stackName)}: it is not a stack name`);
  }
  const path = join(dataDir, KEY_FILE);
  return {
    async load() {
      await mkdir(dataDir, { recursive: true, mode: 0o700 });
      const pair = readPair((await textOf(path)) ?? (await makeKey(path)), path);
      for (const { name, value } of publicKeyParameters(stackName, pair.publicKeys)) {
        await publish(join(dataDir, PARAMETERS, name), value);
      }
      return pair;
    },
  };
}

/** Undefined when there is no such file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw new Error(`cannot read ${path}`, { cause: error });
  }
}

/**
 * Written and synced under another name first, so that nobody ever reads half a key; then given its name by a link,
 * which fails when another process was faster. What is answered is what has the name now.
 */
async function makeKey(path: string): Promise<string> {
  const draft = draftOf(path);
  try {
    await write(draft, await makePrivatePem(), 0o600);
    await link(draft, path).catch((error) => {
      if (!hasCode(error, "EEXIST")) throw error;
    });
  } catch (error) {
    throw new Error(`cannot keep a new signing key at ${path}`, { cause: error });
  } finally {
    await rm(draft, { force: true });
  }
  await syncFolder(dirname(path));
  return await readFile(path, "utf8");
}

function readPair(pem: string, path: string): SigningKeyPair {
  try {
    return signingKeyPair(pem);
  } catch (error) {
    throw new Error(`cannot use ${path}: it is not a private RSA key`, { cause: error });
  }
}

async function publish(path: string, value: string): Promise<void> {
  if ((await textOf(path)) === value) return;
  await mkdir(dirname(path), { recursive: true });
  const draft = draftOf(path);
  await write(draft, value, 0o644);
  await rename(draft, path);
}

async function write(path: string, text: string, mode: number): Promise<void> {
  await using file = await open(path, "wx", mode);
  await file.writeFile(text);
  await file.sync();
}

/** A new name in a folder survives a power cut only when the folder is synced. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, "r");
  await folder.sync();
}

function draftOf(path: string): string {
  return `${path}.${randomUUID()}.draft`;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
