import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type FoundKeys,
  makePrivatePem,
  publicKeyParameters,
  readPublicKeys,
  type SigningKeyPair,
  type SigningKeys,
  signingKeyPair,
} from "../../deliver/signing-keys.ts";
import { makeFolder, replaceFile, syncFolder, writeOnce } from "../shared/durable-file.ts";

export interface KeyFilesOptions {
  dataDir: string;
  /** ScannerStackName: part of the names of the public keys. */
  stackName: string;
}

const KEY_FILE = "callback-signing-key.pem";
/** Public keys of before, by the time they were exchanged: `callback-signing-key.2026-11-15T05-47-20-123Z.public.pem`. */
const EARLIER_KEY = /^callback-signing-key\.[\dTZ-]+\.public\.pem$/;
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
      makeFolder(dataDir, 0o700);
      const pair = readPair((await textOf(path)) ?? (await makeKey(path)), path);
      for (const { name, value } of publicKeyParameters(stackName, pair.publicKeys)) {
        await publish(join(dataDir, PARAMETERS, name), value);
      }
      return pair;
    },
    published: () => readPublicKeys(stackName, (name) => textOf(join(dataDir, PARAMETERS, name))),
  };
}

/** The keys that are there. Makes nothing; undefined when there is no private key. */
export async function findKeys(dataDir: string): Promise<FoundKeys | undefined> {
  const path = join(dataDir, KEY_FILE);
  const pem = await textOf(path);
  if (pem === undefined) return undefined;
  const names = (await readdir(dataDir)).filter((name) => EARLIER_KEY.test(name));
  const earlier = names
    .sort()
    .reverse()
    .map(async (name) => ({ place: join(dataDir, name), pem: await readFile(join(dataDir, name), "utf8") }));
  const { mtime: madeAt } = await stat(path);
  return { kept: "file", place: path, madeAt, pair: readPair(pem, path), earlier: await Promise.all(earlier) };
}

/** Exchanges the key pair for a new one, as `KeyCare` says. The old public key is kept beside it first. */
export async function rotateKeys(options: KeyFilesOptions & { bits?: number }, now: Date): Promise<void> {
  const { dataDir, bits } = options;
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, KEY_FILE);
  const pem = await textOf(path);
  if (pem !== undefined) {
    const time = now.toISOString().replace(/[:.]/g, "-");
    await replaceFile(join(dataDir, `callback-signing-key.${time}.public.pem`), readPair(pem, path).publicKeys.x509);
  }
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await writeOnce(draft, await makePrivatePem(bits));
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new Error(`cannot keep a new signing key at ${path}`, { cause: error });
  }
  await syncFolder(dataDir);
  await keyFiles(options).load();
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
  makeFolder(dirname(path));
  await replaceFile(path, value);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
