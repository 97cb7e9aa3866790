import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  makePrivatePem,
  publicKeyParameters,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import { replaceFile, writeOnce } from "./written-once.ts";

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

/** What is answered is what has the name now: another process may have been faster. */
async function makeKey(path: string): Promise<string> {
  try {
    await writeOnce(path, await makePrivatePem());
  } catch (error) {
    throw new Error(`cannot keep a new signing key at ${path}`, { cause: error });
  }
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
  await replaceFile(path, value);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
