import { createCipheriv, createDecipheriv, createHash } from "node:crypto";

/** What an encryption dictionary of the standard handler says. */
export interface EncryptionDictionary {
  revision: number;
  permissions: number;
  /** What it says about the length of the key, in bits or, by mistake, in bytes. */
  lengths: readonly number[];
  owner: Buffer;
  user: Buffer;
  ownerKey: Buffer;
  userKey: Buffer;
  methods: readonly Method[];
}

/** How streams and strings are encrypted: RC4, and AES with a key for each object or with the file's own. */
export type Method = "V2" | "AESV2" | "AESV3";

export interface FileKey {
  key: Buffer;
  methods: readonly Method[];
}

/** An object's number and generation are part of its key. */
export interface ObjectNumber {
  number: number;
  generation: number;
}

/** In place of a password, or behind a short one. */
const PADDING = Buffer.from("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a", "hex");
/** The rounds of the newest hash end by chance, after 70 or so. */
const ROUNDS_AT_MOST = 2048;

/** The key of a file that opens without a password, be it the user's or the owner's that is empty. */
export function keyWithoutPassword(
  dictionary: EncryptionDictionary,
  identifiers: readonly Buffer[],
): FileKey | undefined {
  const { revision, methods } = dictionary;
  const key = revision >= 5 ? newKey(dictionary) : oldKey(dictionary, identifiers);
  return key ? { key, methods } : undefined;
}

/**
 * Up to revision 4. Writers and readers differ about the length of the key, the identifier of the file and whether its metadata
 * counts; the check in the dictionary tells who is right.
 */
function oldKey(dictionary: EncryptionDictionary, identifiers: readonly Buffer[]): Buffer | undefined {
  const { revision, lengths } = dictionary;
  const sizes = revision === 2 ? [5, ...keySizes(lengths)] : [...keySizes(lengths), 16, 5];
  for (const size of new Set(sizes)) {
    const passwords = [PADDING, ...userPasswords(dictionary, size)];
    for (const identifier of identifiers) {
      for (const password of passwords) {
        for (const metadata of revision >= 4 ? [true, false] : [true]) {
          const key = candidateKey(dictionary, { size, identifier, password, metadata });
          if (isUserKey(dictionary, key, identifier)) return key;
        }
      }
    }
  }
  return undefined;
}

function keySizes(lengths: readonly number[]): number[] {
  return lengths
    .flatMap((length) => [length / 8, length])
    .filter((size) => Number.isInteger(size) && size >= 5 && size <= 16);
}

function candidateKey(
  { owner, permissions, revision }: EncryptionDictionary,
  from: { size: number; identifier: Buffer; password: Buffer; metadata: boolean },
): Buffer {
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE(permissions >>> 0);
  const hash = createHash("md5").update(from.password).update(owner.subarray(0, 32)).update(bits);
  hash.update(from.identifier);
  if (!from.metadata) hash.update(Buffer.alloc(4, 0xff));
  return stretched(hash.digest().subarray(0, from.size), revision);
}

function stretched(digest: Buffer, revision: number): Buffer {
  let key = digest;
  if (revision < 3) return key;
  for (let i = 0; i < 50; i += 1) key = createHash("md5").update(key).digest().subarray(0, digest.length);
  return key;
}

function isUserKey({ revision, user }: EncryptionDictionary, key: Buffer, identifier: Buffer): boolean {
  if (revision === 2) return rc4(key, PADDING).equals(user.subarray(0, 32));
  let check: Buffer = createHash("md5").update(PADDING).update(identifier).digest();
  for (let round = 0; round < 20; round += 1) check = rc4(xored(key, round), check);
  return check.equals(user.subarray(0, 16));
}

/** The user's password, which the owner's opens: here the empty one. Some hash all of it again and again, some only the key. */
function userPasswords({ owner, revision }: EncryptionDictionary, size: number): Buffer[] {
  const digest = createHash("md5").update(PADDING).digest();
  return [...new Set([size, digest.length])].map((hashed) => {
    const key = stretched(digest.subarray(0, hashed), revision).subarray(0, size);
    let password = owner.subarray(0, 32);
    if (revision === 2) return rc4(key, password);
    for (let round = 19; round >= 0; round -= 1) password = rc4(xored(key, round), password);
    return password;
  });
}

function xored(key: Buffer, value: number): Buffer {
  return Buffer.from(key.map((byte) => byte ^ value));
}

/** Revisions 5 and 6: the check and the key are hashed with a salt each, which stand behind the check. */
function newKey({ revision, user, owner, userKey, ownerKey }: EncryptionDictionary): Buffer | undefined {
  const hash = revision === 5 ? sha256 : hardenedHash;
  const nobody = Buffer.alloc(0);
  const known = user.subarray(0, 48);
  for (const { check, sealed, more } of [
    { check: user, sealed: userKey, more: nobody },
    { check: owner, sealed: ownerKey, more: known },
  ]) {
    if (check.length < 48 || sealed.length < 32) continue;
    if (!hash(check.subarray(32, 40), more).equals(check.subarray(0, 32))) continue;
    return aes(hash(check.subarray(40, 48), more), Buffer.alloc(16), sealed.subarray(0, 32));
  }
  return undefined;
}

function sha256(salt: Buffer, more: Buffer): Buffer {
  return createHash("sha256").update(salt).update(more).digest();
}

/** Revision 6, for the empty password. */
function hardenedHash(salt: Buffer, more: Buffer): Buffer {
  let key: Buffer = sha256(salt, more);
  for (let round = 0; round < ROUNDS_AT_MOST; round += 1) {
    const once = Buffer.concat([key, more]);
    const cipher = createCipheriv("aes-128-cbc", key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const mixed = cipher.update(Buffer.concat(Array.from({ length: 64 }, () => once)));
    // The first sixteen bytes as a number, modulo three; 256 leaves one.
    const sum = mixed.subarray(0, 16).reduce((total, byte) => total + byte, 0);
    key = createHash(["sha256", "sha384", "sha512"][sum % 3] ?? "sha256")
      .update(mixed)
      .digest();
    if (round >= 63 && (mixed.at(-1) ?? 0) <= round - 31) break;
  }
  return key.subarray(0, 32);
}

/** Decrypts one stream or string; as much as there is of it. */
export function decrypt(bytes: Buffer, { key }: FileKey, at: ObjectNumber & { method: Method }): Buffer {
  if (at.method === "V2") return rc4(objectKey(key, at), bytes);
  const own = at.method === "AESV3" ? key : objectKey(key, at);
  if (own.length !== 16 && own.length !== 32) return Buffer.from(bytes);
  const plain = aes(own, bytes.subarray(0, 16), bytes.subarray(16));
  const padding = plain.at(-1) ?? 0;
  const isPadded = padding >= 1 && padding <= 16 && plain.subarray(-padding).every((byte) => byte === padding);
  return isPadded ? plain.subarray(0, -padding) : plain;
}

function objectKey(key: Buffer, { number, generation, method }: ObjectNumber & { method: Method }): Buffer {
  const numbers = Buffer.of(number, number >>> 8, number >>> 16, generation, generation >>> 8);
  const hash = createHash("md5").update(key).update(numbers);
  if (method === "AESV2") hash.update("sAlT");
  // AES wants all of it, however short the key of the file is.
  return hash.digest().subarray(0, method === "AESV2" ? 16 : Math.min(16, key.length + 5));
}

/** Whole blocks only. */
function aes(key: Buffer, start: Buffer, bytes: Buffer): Buffer {
  if (start.length < 16 || bytes.length < 16) return Buffer.alloc(0);
  const cipher = createDecipheriv(key.length === 32 ? "aes-256-cbc" : "aes-128-cbc", key, start);
  return cipher.setAutoPadding(false).update(bytes.subarray(0, bytes.length - (bytes.length % 16)));
}

const IN_ORDER = Uint8Array.from({ length: 256 }, (_, index) => index);

/** OpenSSL has it no more. */
function rc4(key: Buffer, bytes: Buffer): Buffer {
  const state = IN_ORDER.slice();
  for (let i = 0, j = 0; i < 256; i += 1) {
    const value = state[i] ?? 0;
    j = (j + value + (key[i % key.length] ?? 0)) & 255;
    state[i] = state[j] ?? 0;
    state[j] = value;
  }
  const out = Buffer.allocUnsafe(bytes.length);
  for (let at = 0, i = 0, j = 0; at < bytes.length; at += 1) {
    i = (i + 1) & 255;
    const value = state[i] ?? 0;
    j = (j + value) & 255;
    const other = state[j] ?? 0;
    state[i] = other;
    state[j] = value;
    out[at] = (bytes[at] ?? 0) ^ (state[(value + other) & 255] ?? 0);
  }
  return out;
}
