import { createCipheriv, createHash } from "node:crypto";
import { bytes, glue, noise, padTo, u16, u32 } from "./corpus/container.ts";

/** Documents of Office by the rules of their formats, as far as looking for what is in them goes; encrypted ones too. */

type BiffRecord = readonly [type: number, data: Buffer];

const BOF = u16(0x0600);
/** What a workbook begins with, and where its one sheet is. */
const START: BiffRecord = [0x0809, glue(BOF, u16(5), u16(0x1faf), u16(0x07cd), u32(0xc1), u32(0x306))];
const SHEET: BiffRecord = [0x85, glue(u32(0x100), bytes(0, 0, 6, 0), "Sheet1")];
const END: BiffRecord = [0x0a, Buffer.alloc(0)];
const RECORD_BYTES = 8224;

/** A workbook (BIFF8) in which a record holds some content, and goes on in others where it is long. */
export function workbookStream(content: Buffer, encryption?: WorkbookEncryption): Buffer {
  const pieces = Array.from({ length: Math.max(1, Math.ceil(content.length / RECORD_BYTES)) }, (_, index) =>
    content.subarray(index * RECORD_BYTES, (index + 1) * RECORD_BYTES),
  );
  const records: BiffRecord[] = [
    START,
    ...(encryption ? [[0x2f, encryption.filePass] as const] : []),
    [0x42, u16(1200)],
    SHEET,
    ...pieces.map((piece, index) => [index === 0 ? 0xeb : 0x3c, piece] as const),
    END,
  ];
  let at = 0;
  const written = records.map(([type, data]) => {
    const open = type === 0x0809 || type === 0x2f ? data.length : type === 0x85 ? 4 : 0;
    const secret = encryption ? encryption.encrypt(data, at + 4) : data;
    at += 4 + data.length;
    return glue(u16(type), u16(data.length), data.subarray(0, open), secret.subarray(open));
  });
  return glue(...written);
}

interface WorkbookEncryption {
  filePass: Buffer;
  /** The data of a record whose data begins at a position of the stream. */
  encrypt(data: Buffer, position: number): Buffer;
}

const hashed = (algorithm: string, ...parts: Uint8Array[]): Buffer =>
  createHash(algorithm).update(Buffer.concat(parts)).digest();
const utf16 = (text: string): Buffer => Buffer.from(text, "utf16le");
const salt = noise(16, "salt");
const verifier = noise(16, "verifier");

function rc4(key: Buffer, data: Buffer): Buffer {
  const box = Array.from({ length: 256 }, (_, index) => index);
  const at = (index: number): number => box[index] ?? 0;
  let j = 0;
  for (let i = 0; i < 256; i += 1) {
    j = (j + at(i) + (key[i % key.length] ?? 0)) % 256;
    [box[i], box[j]] = [at(j), at(i)];
  }
  let i = 0;
  j = 0;
  return Buffer.from(
    data.map((byte) => {
      i = (i + 1) % 256;
      j = (j + at(i)) % 256;
      [box[i], box[j]] = [at(j), at(i)];
      return byte ^ at((at(i) + at(j)) % 256);
    }),
  );
}

/** The keystream goes on through the headers of records, and begins anew every 1,024 bytes. */
function byBlocks(keyOf: (block: number) => Buffer): WorkbookEncryption["encrypt"] {
  const streams = new Map<number, Buffer>();
  return (data, position) =>
    Buffer.from(
      data.map((byte, index) => {
        const block = (position + index) >> 10;
        const stream = streams.get(block) ?? rc4(keyOf(block), Buffer.alloc(1024));
        streams.set(block, stream);
        return byte ^ (stream[(position + index) & 1023] ?? 0);
      }),
    );
}

/** As Excel 97 does it. */
export function encryptedBy97(password: string): WorkbookEncryption {
  const half = glue(hashed("md5", utf16(password)).subarray(0, 5), salt);
  const base = hashed("md5", ...Array<Buffer>(16).fill(half)).subarray(0, 5);
  const keyOf = (block: number): Buffer => hashed("md5", base, u32(block));
  const verified = rc4(keyOf(0), glue(verifier, hashed("md5", verifier)));
  return { filePass: glue(u16(1), u16(1), u16(1), salt, verified), encrypt: byBlocks(keyOf) };
}

/** As Excel 2003 does it. */
export function encryptedBy2003(password: string): WorkbookEncryption {
  const base = hashed("sha1", salt, utf16(password));
  const keyOf = (block: number): Buffer => hashed("sha1", base, u32(block)).subarray(0, 16);
  const header = glue(u32(4), u32(0), u32(0x6801), u32(0x8004), u32(128), u32(1), u32(0), u32(0), utf16("RC4\0"));
  const verified = rc4(keyOf(0), glue(verifier, hashed("sha1", verifier)));
  const stated = glue(u32(16), salt, verified.subarray(0, 16), u32(20), verified.subarray(16));
  return {
    filePass: glue(u16(1), u16(4), u16(2), u32(4), u32(header.length), header, stated),
    encrypt: byBlocks(keyOf),
  };
}

/** As Excel 95 does it with `VelvetSweatshop`: its key, its check, and the sixteen bytes that these make. */
export const encryptedBy95: WorkbookEncryption = {
  filePass: glue(u16(0), u16(0xb359), u16(0x9a0a)),
  encrypt: (data, position) =>
    Buffer.from(
      data.map((byte, index) => {
        const mixed = byte ^ (BYTES_OF_95[(position + data.length + index) % 16] ?? 0);
        return (mixed << 5) | (mixed >> 3);
      }),
    ),
};
const BYTES_OF_95 = Buffer.from("3c5bd417f01f2813f04bb403c473a420", "hex");

const aes = (mode: string, { key, iv = null }: { key: Buffer; iv?: Buffer | null }, data: Buffer): Buffer => {
  const cipher = createCipheriv(`aes-${key.length * 8}-${mode}`, key, iv).setAutoPadding(false);
  return glue(cipher.update(padTo(data, 16)), cipher.final());
};

interface EncryptedPackage {
  info: Buffer;
  content: Buffer;
}

const sizeOf = (content: Buffer): Buffer => glue(u32(content.length), u32(0));

/** A document of Office 2007, encrypted. */
export function encryptedBy2007(content: Buffer, password: string): EncryptedPackage {
  let value = hashed("sha1", salt, utf16(password));
  for (let turn = 0; turn < 50_000; turn += 1) value = hashed("sha1", u32(turn), value);
  const last = hashed("sha1", value, u32(0));
  const key = hashed(
    "sha1",
    Buffer.alloc(64, 0x36).map((byte, at) => byte ^ (last[at] ?? 0)),
  ).subarray(0, 16);
  const header = glue(u32(0x24), u32(0), u32(0x660e), u32(0x8004), u32(128), u32(0x18), u32(0), u32(0), utf16("AES\0"));
  const verifierHash = aes("ecb", { key }, hashed("sha1", verifier));
  const stated = glue(u32(16), salt, aes("ecb", { key }, verifier), u32(20), verifierHash);
  return {
    info: glue(u16(4), u16(2), u32(0x24), u32(header.length), header, stated),
    content: glue(sizeOf(content), aes("ecb", { key }, content)),
  };
}

/** A document of Office 2010 and later, encrypted. */
export function encryptedBy2010(content: Buffer, password: string, turns = 100_000): EncryptedPackage {
  let last = hashed("sha512", salt, utf16(password));
  for (let turn = 0; turn < turns; turn += 1) last = hashed("sha512", u32(turn), last);
  const sealed = (purpose: string, value: Buffer): string => {
    const key = hashed("sha512", last, Buffer.from(purpose, "hex")).subarray(0, 32);
    return aes("cbc", { key, iv: salt }, value).toString("base64");
  };
  const key = noise(32, "document key");
  const dataSalt = noise(16, "data salt");
  const segments = Array.from({ length: Math.ceil(content.length / 4096) }, (_, number) => {
    const iv = hashed("sha512", dataSalt, u32(number)).subarray(0, 16);
    return aes("cbc", { key, iv }, content.subarray(number * 4096, (number + 1) * 4096));
  });
  const common =
    'saltSize="16" blockSize="16" keyBits="256" hashSize="64" cipherAlgorithm="AES" cipherChaining="ChainingModeCBC" hashAlgorithm="SHA512"';
  const parts = [
    `encryptedVerifierHashInput="${sealed("fea7d2763b4b9e79", verifier)}"`,
    `encryptedVerifierHashValue="${sealed("d7aa0f6d3061344e", hashed("sha512", verifier))}"`,
    `encryptedKeyValue="${sealed("146e0be7abacd0d6", key)}"`,
  ];
  const xml = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<encryption xmlns="http://schemas.microsoft.com/office/2006/encryption" xmlns:p="http://schemas.microsoft.com/office/2006/keyEncryptor/password"><keyData ${common} saltValue="${dataSalt.toString("base64")}"/><dataIntegrity encryptedHmacKey="AA==" encryptedHmacValue="AA=="/><keyEncryptors><keyEncryptor uri="http://schemas.microsoft.com/office/2006/keyEncryptor/password"><p:encryptedKey spinCount="${turns}" ${common} saltValue="${salt.toString("base64")}" ${parts.join(" ")}/></keyEncryptor></keyEncryptors></encryption>`;
  return { info: glue(u16(4), u16(4), u32(0x40), xml), content: glue(sizeOf(content), ...segments) };
}
