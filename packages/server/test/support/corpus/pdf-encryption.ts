import { createCipheriv, createHash } from "node:crypto";
import { bytes, glue, noise, u32 } from "./container.ts";

/** Writes what the standard security handler of PDF reads, in all its revisions. */

export interface Handler {
  version: number;
  revision: number;
  /** The length of the key, in bytes. */
  size: number;
  method: "V2" | "AESV2" | "AESV3";
  /** What the dictionary says about its filters instead of the usual, from version 4 on. */
  filters?: string;
  /** Streams are left as they are, as such a dictionary says. */
  plainStreams?: boolean;
  metadata?: boolean;
  hashesAll?: boolean;
}

const FILTERS = "/StmF /StdCF /StrF /StdCF";

export const handlers: Readonly<Record<string, Handler>> = {
  "RC4 of 40 bits": { version: 1, revision: 2, size: 5, method: "V2" },
  "RC4 of 40 bits, revision 3": { version: 2, revision: 3, size: 5, method: "V2" },
  "RC4 of 72 bits": { version: 2, revision: 3, size: 9, method: "V2" },
  "RC4 of 128 bits": { version: 2, revision: 3, size: 16, method: "V2" },
  "RC4 by a crypt filter": { version: 4, revision: 4, size: 16, method: "V2" },
  "AES of 128 bits": { version: 4, revision: 4, size: 16, method: "AESV2" },
  "AES of 128 bits, metadata left alone": { version: 4, revision: 4, size: 16, method: "AESV2", metadata: false },
  "AES of 256 bits, revision 5": { version: 5, revision: 5, size: 32, method: "AESV3" },
  "AES of 256 bits, revision 6": { version: 5, revision: 6, size: 32, method: "AESV3" },
};

export interface Passwords {
  user: string;
  owner: string;
}

export interface Encryptor {
  /** The encryption dictionary. */
  dictionary: string;
  identifier: Buffer;
  encrypt(content: Buffer, number: number, generation?: number): Buffer;
}

const PERMISSIONS = -3904;
const PAD = Buffer.from("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A", "hex");

export function encryptor(handler: Handler, passwords: Passwords, identifier: Buffer = noise(16, "id")): Encryptor {
  const { key, entries } = handler.revision < 5 ? oldKey(handler, passwords, identifier) : newKey(handler, passwords);
  const { version, revision, size, method, metadata } = handler;
  const filter = `/CF << /StdCF << /CFM /${method} /AuthEvent /DocOpen /Length ${size} >> >>`;
  const dictionary = [
    `<< /Filter /Standard /V ${version} /R ${revision} /Length ${size * 8} /P ${PERMISSIONS}`,
    ...Object.entries(entries).map(([name, value]) => `/${name} <${value.toString("hex")}>`),
    ...(version >= 4 ? [filter, handler.filters ?? FILTERS] : []),
    ...(metadata === false ? ["/EncryptMetadata false"] : []),
    ">>",
  ].join(" ");
  return {
    dictionary,
    identifier,
    encrypt(content, number, generation = 0) {
      if (method === "AESV3") return aes(key, content, number);
      const numbers = Buffer.concat([u32(number).subarray(0, 3), u32(generation).subarray(0, 2)]);
      const salted = glue(key, numbers, method === "AESV2" ? "sAlT" : "");
      const own = md5(salted).subarray(0, method === "AESV2" ? 16 : Math.min(16, size + 5));
      return method === "V2" ? rc4(own, content) : aes(own, content, number);
    },
  };
}

function aes(key: Buffer, content: Buffer, number: number): Buffer {
  const start = noise(16, `start ${number}`);
  const cipher = createCipheriv(key.length === 32 ? "aes-256-cbc" : "aes-128-cbc", key, start);
  return Buffer.concat([start, cipher.update(content), cipher.final()]);
}

const md5 = (content: Uint8Array): Buffer => createHash("md5").update(content).digest();
const padded = (password: string): Buffer => glue(password, PAD).subarray(0, 32);

interface Key {
  key: Buffer;
  entries: Record<string, Buffer>;
}

function oldKey(handler: Handler, { user, owner }: Passwords, identifier: Buffer): Key {
  const { revision, size } = handler;
  const again = revision >= 3 ? 50 : 0;
  const rounds = revision >= 3 ? Array.from({ length: 20 }, (_, round) => round) : [0];
  const under = (key: Buffer, content: Buffer): Buffer =>
    rounds.reduce((done, round) => rc4(Buffer.from(key.map((byte) => byte ^ round)), done), content);

  // Readers hash as many bytes as the key has; the specification can be read so that all of them are.
  const hashed = handler.hashesAll ? 16 : size;
  let ownerHash = md5(padded(owner)).subarray(0, hashed);
  for (let i = 0; i < again; i += 1) ownerHash = md5(ownerHash).subarray(0, hashed);
  const sealed = under(ownerHash.subarray(0, size), padded(user));
  const end = handler.metadata === false ? bytes(255, 255, 255, 255) : "";
  let key = md5(glue(padded(user), sealed, u32(PERMISSIONS), identifier, end)).subarray(0, size);
  for (let i = 0; i < again; i += 1) key = md5(key).subarray(0, size);
  const check = revision === 2 ? rc4(key, PAD) : glue(under(key, md5(glue(PAD, identifier))), Buffer.alloc(16));
  return { key, entries: { O: sealed, U: check } };
}

function newKey({ revision }: Handler, { user, owner }: Passwords): Key {
  const key = noise(32, "file key");
  const hash = revision === 5 ? plainHash : hardHash;
  const seal = (password: string, more: Buffer, seed: string): [check: Buffer, key: Buffer] => {
    const salts = noise(16, `salts ${seed} ${password}`);
    const check = glue(hash(password, salts.subarray(0, 8), more), salts);
    const cipher = createCipheriv("aes-256-cbc", hash(password, salts.subarray(8), more), Buffer.alloc(16));
    return [check, cipher.setAutoPadding(false).update(key)];
  };
  const [U, UE] = seal(user, Buffer.alloc(0), "user");
  const [O, OE] = seal(owner, U, "owner");
  const permissions = glue(u32(PERMISSIONS), bytes(255, 255, 255, 255), "Tadb", noise(4));
  const Perms = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false).update(permissions);
  return { key, entries: { U, UE, O, OE, Perms } };
}

const plainHash = (password: string, salt: Buffer, more: Buffer): Buffer =>
  createHash("sha256")
    .update(glue(password, salt, more))
    .digest();

function hardHash(password: string, salt: Buffer, more: Buffer): Buffer {
  let hash: Buffer = plainHash(password, salt, more);
  for (let round = 1, last = 256; round <= 64 || last > round - 33; round += 1) {
    const repeated = Buffer.concat(Array<Buffer>(64).fill(glue(password, hash, more)));
    const cipher = createCipheriv("aes-128-cbc", hash.subarray(0, 16), hash.subarray(16, 32)).setAutoPadding(false);
    const mixed = cipher.update(repeated);
    const remainder = Number(BigInt(`0x${mixed.toString("hex", 0, 16)}`) % 3n);
    hash = createHash(`sha${[256, 384, 512][remainder]}`)
      .update(mixed)
      .digest();
    last = mixed.at(-1) ?? 0;
  }
  return hash.subarray(0, 32);
}

function rc4(key: Buffer, content: Buffer): Buffer {
  const box = [...Array(256).keys()];
  const swap = (a: number, b: number): void => {
    [box[a], box[b]] = [box[b] as number, box[a] as number];
  };
  let j = 0;
  for (let i = 0; i < 256; i += 1) {
    j = (j + (box[i] as number) + (key[i % key.length] as number)) % 256;
    swap(i, j);
  }
  j = 0;
  return Buffer.from(
    content.map((byte, index) => {
      const i = (index + 1) % 256;
      j = (j + (box[i] as number)) % 256;
      swap(i, j);
      return byte ^ (box[((box[i] as number) + (box[j] as number)) % 256] as number);
    }),
  );
}

/** A string in hexadecimal digits. */
export const hexString = (content: Buffer): string => `<${content.toString("hex")}>`;
/** A string in brackets, escaped where it must be. */
export const literalString = (content: Buffer): string =>
  `(${content.toString("latin1").replace(/[\\()\r]/g, (character) => (character === "\r" ? "\\r" : `\\${character}`))})`;
