import { createDecipheriv, hash } from "node:crypto";
import type { Budget } from "../budget.ts";

/**
 * How Office encrypts (MS-OFFCRYPTO), for documents whose password every program knows: a workbook that is protected against
 * changes is encrypted, and opens without a question. Whoever encrypts with these has nothing hidden from anybody.
 */
const KNOWN_PASSWORDS: readonly string[] = ["VelvetSweatshop"];

/** The first of the known passwords that fits, as the key that it makes. Malformed numbers make no key. */
function firstKey<Key>(keyOf: (password: string) => Key | undefined, passwords = KNOWN_PASSWORDS): Key | undefined {
  for (const password of passwords) {
    try {
      const key = keyOf(password);
      if (key !== undefined) return key;
    } catch (error) {
      // What Node throws at keys and blocks of wrong lengths. All else is ours.
      if (!(error instanceof RangeError || (error instanceof Error && "code" in error))) throw error;
    }
  }
  return undefined;
}

/** Decrypts the data of one record of a workbook, which stands at a position of its stream. */
export type RecordCipher = (data: Buffer, position: number) => Buffer;

/** By what the record FILEPASS says; nothing if the password is not a known one. */
export function workbookCipher(filePass: Buffer, passwords = KNOWN_PASSWORDS): RecordCipher | undefined {
  return firstKey((password) => {
    const kind = filePass.length === 4 ? 0 : filePass.readUInt16LE(0);
    if (kind === 0) return exclusiveOr(filePass.subarray(-4), password);
    const [major, minor] = [filePass.readUInt16LE(2), filePass.readUInt16LE(4)];
    if (kind !== 1) return undefined;
    return minor === 2
      ? rc4WithSha1(filePass.subarray(6), password)
      : major === 1
        ? rc4WithMd5(filePass, password)
        : undefined;
  }, passwords);
}

const BLOCK_BYTES = 1024;

/** Each block of a stream has a key of its own. */
function rc4Cipher(keyOf: (block: number) => Buffer): RecordCipher {
  let block = -1;
  let stream = Buffer.alloc(0);
  return (data, position) =>
    data.map((byte, index) => {
      const at = position + index;
      if (Math.floor(at / BLOCK_BYTES) !== block) {
        block = Math.floor(at / BLOCK_BYTES);
        stream = rc4(keyOf(block), Buffer.alloc(BLOCK_BYTES));
      }
      return byte ^ (stream[at % BLOCK_BYTES] as number);
    }) as Buffer;
}

/** Node's OpenSSL has it no more. */
function rc4(key: Buffer, data: Buffer): Buffer<ArrayBuffer> {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index);
  const swap = (i: number, j: number): number => {
    const [a, b] = [state[i] as number, state[j] as number];
    state[i] = b;
    state[j] = a;
    return (a + b) & 255;
  };
  for (let i = 0, j = 0; i < 256; i += 1) {
    j = (j + (state[i] as number) + (key[i % key.length] as number)) & 255;
    swap(i, j);
  }
  const out = Buffer.alloc(data.length);
  for (let at = 0, i = 0, j = 0; at < data.length; at += 1) {
    i = (i + 1) & 255;
    j = (j + (state[i] as number)) & 255;
    out[at] = (data[at] as number) ^ (state[swap(i, j)] as number);
  }
  return out;
}

const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");
const digest = (algorithm: string, ...parts: Uint8Array[]): Buffer => hash(algorithm, Buffer.concat(parts), "buffer");

function u32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value);
  return four;
}

/** Of Office 97: a key of 40 bits. Behind the version stand the salt, a verifier and its hash. */
function rc4WithMd5(filePass: Buffer, password: string): RecordCipher | undefined {
  const [salt, verifier] = [filePass.subarray(6, 22), filePass.subarray(22, 54)];
  const half = Buffer.concat([digest("md5", utf16(password)).subarray(0, 5), salt]);
  const base = digest("md5", ...Array.from({ length: 16 }, () => half)).subarray(0, 5);
  const keyOf = (block: number): Buffer => digest("md5", base, u32(block));
  const plain = rc4(keyOf(0), verifier);
  const fits = verifier.length === 32 && digest("md5", plain.subarray(0, 16)).equals(plain.subarray(16));
  return fits ? rc4Cipher(keyOf) : undefined;
}

interface Encryption {
  keyBytes: number;
  salt: Buffer;
  verifier: Buffer;
  verifierHash: Buffer;
}

/** What stands behind the version: flags, the size of a header, the header, and a verifier. */
function readEncryption(bytes: Buffer): Encryption {
  const header = bytes.subarray(8, 8 + bytes.readUInt32LE(4));
  const verifier = bytes.subarray(8 + header.length);
  return {
    // Zero stands for the 40 bits of old.
    keyBytes: (header.readUInt32LE(16) || 40) / 8,
    salt: verifier.subarray(4, 20),
    verifier: verifier.subarray(20, 36),
    verifierHash: verifier.subarray(40),
  };
}

function rc4WithSha1(bytes: Buffer, password: string): RecordCipher | undefined {
  const { keyBytes, salt, verifier, verifierHash } = readEncryption(bytes);
  const base = digest("sha1", salt, utf16(password));
  const keyOf = (block: number): Buffer => {
    const key = digest("sha1", base, u32(block)).subarray(0, keyBytes);
    return keyBytes === 5 ? Buffer.concat([key, Buffer.alloc(11)]) : key;
  };
  const plain = rc4(keyOf(0), Buffer.concat([verifier, verifierHash.subarray(0, 20)]));
  return digest("sha1", plain.subarray(0, 16)).equals(plain.subarray(16)) ? rc4Cipher(keyOf) : undefined;
}

const FILL = Buffer.from("bbffffbaffffb98000be0f00bf0f00", "hex");

/** Of Excel 95 and before: sixteen bytes, over and over. */
function exclusiveOr(stated: Buffer, password: string): RecordCipher | undefined {
  const characters = Buffer.from(password, "latin1").subarray(0, 15);
  const { key, verifier } = keyAndVerifier(characters);
  if (stated.length < 4 || stated.readUInt16LE(0) !== key || stated.readUInt16LE(2) !== verifier) return undefined;
  const pad = Buffer.concat([characters, FILL]).subarray(0, 16);
  const array = pad.map((byte, index) => {
    const mixed = byte ^ (index % 2 === 0 ? key & 255 : key >> 8);
    return ((mixed << 2) | (mixed >> 6)) & 255;
  });
  return (data, position) =>
    data.map((byte, index) => {
      const turned = ((byte << 3) | (byte >> 5)) & 255;
      return turned ^ (array[(position + data.length + index) % 16] as number);
    }) as Buffer;
}

function keyAndVerifier(characters: Buffer): { key: number; verifier: number } {
  const next = (value: number): number => {
    const turned = ((value << 1) | (value >> 15)) & 0xffff;
    return (turned & 1) === 1 ? turned ^ 0x1020 : turned;
  };
  let [key, base, end] = [0, 0x8000, 0xffff];
  for (const character of characters.toReversed()) {
    for (let bit = 0; bit < 8; bit += 1) {
      base = next(base);
      end = next(end);
      if (((character & 0x7f) >> bit) & 1) key ^= base;
    }
  }
  let verifier = characters.length ^ 0xce4b;
  for (const [index, character] of characters.entries()) {
    const turn = (index + 1) % 15;
    verifier ^= ((character << turn) | (character >> (15 - turn))) & 0x7fff;
  }
  return { key: key ^ end, verifier };
}

/** Decrypts a segment of a package, by its number. */
export interface PackageCipher {
  segmentBytes: number;
  decrypt(segment: Buffer, number: number): Buffer;
}

/** By the stream `EncryptionInfo` of a document of today; nothing if the password is not a known one. */
export function packageCipher(info: Buffer, budget: Budget, passwords = KNOWN_PASSWORDS): PackageCipher | undefined {
  if (info.length < 8) return undefined;
  const [major, minor] = [info.readUInt16LE(0), info.readUInt16LE(2)];
  return firstKey((password) => {
    const isAgile = major === 4 && minor === 4;
    const standardCipher = minor === 2 ? standard(info.subarray(4), password, budget) : undefined;
    const cipher = isAgile ? agile(info.toString("utf8", 8), password, budget) : standardCipher;
    // What is wrong with the key shows here.
    cipher?.decrypt(Buffer.alloc(16), 0);
    return cipher;
  }, passwords);
}

/** Office makes a hundred thousand turns; whoever asks for more asks for our time. */
const TURNS_AT_MOST = 100_000;
/** Hashing once costs as much as passing over so many bytes; all of it is more than the lane for small files has to give. */
const TURN_WORK = 512;

function spin(algorithm: string, { start, turns, budget }: { start: Buffer; turns: number; budget: Budget }): Buffer {
  budget.addWork(turns * TURN_WORK);
  const turned = Buffer.concat([u32(0), start]);
  for (let turn = 0; turn < turns; turn += 1) {
    turned.writeUInt32LE(turn);
    hash(algorithm, turned, "buffer").copy(turned, 4);
  }
  return turned.subarray(4);
}

function aes(mode: "ecb" | "cbc", { key, iv = null }: { key: Buffer; iv?: Buffer | null }, data: Buffer): Buffer {
  const cipher = createDecipheriv(`aes-${key.length * 8}-${mode}`, key, iv).setAutoPadding(false);
  return Buffer.concat([cipher.update(data.subarray(0, data.length - (data.length % 16))), cipher.final()]);
}

function standard(bytes: Buffer, password: string, budget: Budget): PackageCipher | undefined {
  const { keyBytes, salt, verifier, verifierHash } = readEncryption(bytes);
  const start = digest("sha1", salt, utf16(password));
  const last = digest("sha1", spin("sha1", { start, turns: 50_000, budget }), u32(0));
  const half = (pad: number): Buffer =>
    digest(
      "sha1",
      Buffer.alloc(64, pad).map((byte, at) => byte ^ (last[at] ?? 0)),
    );
  const key = Buffer.concat([half(0x36), half(0x5c)]).subarray(0, keyBytes);
  const plain = aes("ecb", { key }, Buffer.concat([verifier, verifierHash.subarray(0, 32)]));
  if (!digest("sha1", plain.subarray(0, 16)).equals(plain.subarray(16, 36))) return undefined;
  return { segmentBytes: 4096, decrypt: (segment) => aes("ecb", { key }, segment) };
}

/** What is hashed with the password to make the keys of the verifier, of its hash, and of the document's own key. */
const [VERIFIER, VERIFIER_HASH, DOCUMENT_KEY] = ["fea7d2763b4b9e79", "d7aa0f6d3061344e", "146e0be7abacd0d6"].map(
  (hex) => Buffer.from(hex, "hex"),
) as [Buffer, Buffer, Buffer];

const HASHES: readonly string[] = ["sha1", "sha256", "sha384", "sha512"];

function agile(xml: string, password: string, budget: Budget): PackageCipher | undefined {
  const data = attributesOf(xml, /<(?:\w+:)?keyData\s[^>]*>/);
  const own = attributesOf(xml, /<(?:\w+:)?encryptedKey\s[^>]*>/);
  const [turns, keyBytes] = [Number(own("spinCount")), Number(own("keyBits")) / 8];
  if (!(turns <= TURNS_AT_MOST) || data("cipherChaining") !== "ChainingModeCBC") return undefined;
  const hashOf = (of: (name: string) => string): string => of("hashAlgorithm").toLowerCase().replace("-", "");
  const [algorithm, dataHash] = [hashOf(own), hashOf(data)];
  if (!HASHES.includes(algorithm) || !HASHES.includes(dataHash)) return undefined;
  const salt = Buffer.from(own("saltValue"), "base64");
  const last = spin(algorithm, { start: digest(algorithm, salt, utf16(password)), turns, budget });
  const opened = (purpose: Buffer, name: string): Buffer => {
    const key = Buffer.concat([digest(algorithm, last, purpose), Buffer.alloc(64, 0x36)]).subarray(0, keyBytes);
    return aes("cbc", { key, iv: salt.subarray(0, 16) }, Buffer.from(own(name), "base64"));
  };
  const verifier = opened(VERIFIER, "encryptedVerifierHashInput").subarray(0, salt.length);
  const stated = opened(VERIFIER_HASH, "encryptedVerifierHashValue");
  const expected = digest(algorithm, verifier);
  if (!stated.subarray(0, expected.length).equals(expected)) return undefined;
  const key = opened(DOCUMENT_KEY, "encryptedKeyValue").subarray(0, Number(data("keyBits")) / 8);
  const dataSalt = Buffer.from(data("saltValue"), "base64");
  return {
    segmentBytes: 4096,
    decrypt: (segment, number) =>
      aes("cbc", { key, iv: digest(dataHash, dataSalt, u32(number)).subarray(0, 16) }, segment),
  };
}

function attributesOf(xml: string, element: RegExp): (name: string) => string {
  const found = xml.match(element)?.[0] ?? "";
  return (name) => found.match(new RegExp(`\\s${name}="([^"]*)"`))?.[1] ?? "";
}
