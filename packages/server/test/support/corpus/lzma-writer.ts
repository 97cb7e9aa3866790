import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { bytes, glue, latin1, padTo, u32, u64 } from "./container.ts";

/**
 * LZMA as it comes in files, with any properties. It packs nothing: every byte is coded as a literal, which every reader
 * understands and which leaves no byte where it was.
 */
export interface LzmaProperties {
  /** Literal context, literal position and position bits. */
  lc: number;
  lp: number;
  pb: number;
  endMarker: boolean;
}

const USUAL: LzmaProperties = { lc: 3, lp: 0, pb: 2, endMarker: false };

export function lzmaRaw(content: Uint8Array, properties: LzmaProperties = USUAL): Buffer {
  const { lc, lp, pb, endMarker } = properties;
  const coder = rangeCoder();
  const isMatch = new Uint16Array(16).fill(1024);
  const literals = new Uint16Array(0x300 << (lc + lp)).fill(1024);
  let previous = 0;
  for (let at = 0; at < content.length; at += 1) {
    const byte = content[at] ?? 0;
    coder.bit(isMatch, at & ((1 << pb) - 1), 0);
    const context = 0x300 * (((at & ((1 << lp) - 1)) << lc) + (previous >> (8 - lc)));
    for (let symbol = 1, shift = 7; shift >= 0; shift -= 1) {
      const bit = (byte >> shift) & 1;
      coder.bit(literals, context + symbol, bit);
      symbol = (symbol << 1) | bit;
    }
    previous = byte;
  }
  if (endMarker) {
    coder.bit(isMatch, content.length & ((1 << pb) - 1), 1);
    // A match that is no repetition, of the shortest length, at the largest distance there is.
    const rest = new Uint16Array(256).fill(1024);
    coder.bit(rest, 0, 0);
    coder.bit(rest, 1, 0);
    for (let symbol = 1, count = 0; count < 3; count += 1, symbol <<= 1) coder.bit(rest, 10 + symbol, 0);
    for (let symbol = 1, count = 0; count < 6; count += 1, symbol = (symbol << 1) | 1) coder.bit(rest, 20 + symbol, 1);
    coder.direct(26, 0x3ffffff);
    for (let symbol = 1, count = 0; count < 4; count += 1, symbol = (symbol << 1) | 1) coder.bit(rest, 90 + symbol, 1);
  }
  return coder.finish();
}

function rangeCoder(): {
  bit(probabilities: Uint16Array, at: number, bit: number): void;
  direct(count: number, value: number): void;
  finish(): Buffer;
} {
  const out: number[] = [];
  let low = 0;
  let range = 0xffffffff;
  let cache = 0;
  let cacheSize = 1;

  function shiftLow(): void {
    if (low < 0xff000000 || low >= 2 ** 32) {
      const carry = low >= 2 ** 32 ? 1 : 0;
      for (let value = cache; cacheSize > 0; cacheSize -= 1, value = 0xff) out.push((value + carry) & 0xff);
      cache = Math.floor(low / 2 ** 24) & 0xff;
    }
    cacheSize += 1;
    low = (low % 2 ** 24) * 256;
  }
  function normalize(): void {
    while (range < 2 ** 24) {
      range = (range * 256) % 2 ** 32;
      shiftLow();
    }
  }
  return {
    bit(probabilities, at, bit) {
      const probability = probabilities[at] ?? 1024;
      const bound = (range >>> 11) * probability;
      if (bit === 0) {
        range = bound;
        probabilities[at] = probability + ((2048 - probability) >> 5);
      } else {
        low += bound;
        range -= bound;
        probabilities[at] = probability - (probability >> 5);
      }
      normalize();
    },
    direct(count, value) {
      for (let shift = count - 1; shift >= 0; shift -= 1) {
        range = Math.floor(range / 2);
        if ((value >>> shift) & 1) low += range;
        normalize();
      }
    },
    finish() {
      for (let count = 0; count < 5; count += 1) shiftLow();
      return Buffer.from(out);
    },
  };
}

function propertiesByte({ lc, lp, pb }: LzmaProperties): number {
  return (pb * 5 + lp) * 9 + lc;
}

/** The file of the old `lzma` program. */
export function lzmaAlone(
  content: Uint8Array,
  {
    dictionary = 1 << 16,
    sized = true,
    ...rest
  }: Partial<LzmaProperties & { dictionary: number; sized: boolean }> = {},
): Buffer {
  const properties = { ...USUAL, endMarker: !sized, ...rest };
  const size = sized ? u64(content.length) : Buffer.alloc(8, 0xff);
  return glue(bytes(propertiesByte(properties)), u32(dictionary), size, lzmaRaw(content, properties));
}

/** A member of a zip by method 14. Its flag 2 says that there is an end marker. */
export function lzmaInZip(content: Uint8Array, endMarker: boolean): Buffer {
  const properties = { ...USUAL, endMarker };
  return glue(bytes(9, 20, 5, 0, propertiesByte(properties)), u32(1 << 16), lzmaRaw(content, properties));
}

export function lzip(content: Uint8Array): Buffer {
  const stream = lzmaRaw(content, { ...USUAL, endMarker: true });
  return glue("LZIP", bytes(1, 16), stream, u32(crc32(content)), u64(content.length), u64(26 + stream.length));
}

const CHUNK_BYTES = 1 << 15;

/** LZMA2: chunks that begin anew each, coded or not. */
function lzma2(content: Uint8Array, coded = true): Buffer {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += CHUNK_BYTES) {
    const chunk = content.subarray(at, at + CHUNK_BYTES);
    const packed = coded ? lzmaRaw(chunk) : chunk;
    const size = chunk.length - 1;
    if (!coded) chunks.push(bytes(1, size >> 8, size & 0xff), chunk);
    else {
      const packedSize = packed.length - 1;
      const sizes = [size >> 8, size & 0xff, packedSize >> 8, packedSize & 0xff];
      chunks.push(bytes(0xe0, ...sizes, propertiesByte(USUAL)), packed);
    }
  }
  return Buffer.concat([...chunks, bytes(0)]);
}

export interface XzShape {
  check?: "none" | "crc32" | "crc64" | "sha256" | "unknown" | "wrong";
  /** Filters in front of LZMA2, by their numbers, with their properties. */
  filters?: readonly (readonly number[])[];
  coded?: boolean;
  /** What the filters made of the content. */
  filtered?: Uint8Array;
  sizesInHeader?: boolean;
}

const CHECKS = {
  none: { id: 0, sum: () => Buffer.alloc(0) },
  crc32: { id: 1, sum: (content: Uint8Array) => u32(crc32(content)) },
  wrong: { id: 1, sum: () => u32(0x12345678) },
  crc64: { id: 4, sum: crc64 },
  sha256: { id: 10, sum: (content: Uint8Array) => createHash("sha256").update(content).digest() },
  unknown: { id: 7, sum: () => Buffer.alloc(16, 0x55) },
} as const;

export function xz(content: Uint8Array, shape: XzShape = {}): Buffer {
  const { check = "crc32", filters = [], coded = true, filtered = content, sizesInHeader = false } = shape;
  const flags = bytes(0, CHECKS[check].id);
  const packed = lzma2(filtered, coded);
  const sizes = sizesInHeader ? glue(variable(packed.length), variable(content.length)) : Buffer.alloc(0);
  const list = filters.flatMap(([id = 0, ...properties]) => [id, properties.length, ...properties]);
  const fields = glue(bytes(filters.length | (sizesInHeader ? 0xc0 : 0)), sizes, bytes(...list, 0x21, 1, 16));
  const header = padTo(glue(bytes(0), fields), 4);
  header[0] = header.length / 4;
  const sum = CHECKS[check].sum(content);
  const block = glue(header, u32(crc32(header)), packed);
  const unpadded = block.length + sum.length;
  const index = padTo(glue(bytes(0, 1), variable(unpadded), variable(content.length)), 4);
  const backward = glue(u32((index.length + 4) / 4 - 1), flags);
  return glue(
    latin1("\xfd7zXZ\0"),
    ...[flags, u32(crc32(flags)), padTo(block, 4), sum],
    ...[index, u32(crc32(index)), u32(crc32(backward)), backward, "YZ"],
  );
}

/** Numbers of the .xz format: seven bits each byte, the lowest first. */
function variable(value: number): Buffer {
  const out: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) out.push((rest & 0x7f) | 0x80);
  return bytes(...out, rest);
}

function crc64(content: Uint8Array): Buffer {
  const table = Array.from({ length: 256 }, (_, index) => {
    let value = BigInt(index);
    for (let bit = 0; bit < 8; bit += 1) value = value & 1n ? (value >> 1n) ^ 0xc96c5795d7870f42n : value >> 1n;
    return value;
  });
  let sum = 0xffffffffffffffffn;
  for (const byte of content) sum = (table[Number((sum ^ BigInt(byte)) & 0xffn)] ?? 0n) ^ (sum >> 8n);
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(sum ^ 0xffffffffffffffffn);
  return eight;
}
