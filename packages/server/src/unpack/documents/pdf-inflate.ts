import { inflateSync } from "node:zlib";
import { type Blob, memoryBlob } from "../blob.ts";

/** What a decoder made of some bytes: as much as it could. */
export interface Decoded {
  bytes: Buffer;
  /** How many bytes of its input it has read. */
  consumed: number;
  /** Came to the end that the coding has, without an error. */
  whole: boolean;
  /** There would have been more than the limit. */
  tooLarge: boolean;
  /** Header, data and checksum are as they should be. */
  byTheBook?: boolean;
}

export interface InflateOptions {
  limit: number;
  /** Told about bytes given to the decoder, before it reads them. */
  charge(bytes: number): void;
}

/**
 * Compressed data as PDF readers take it: with a wrong checksum or none, without its header, behind blanks, and broken off
 * anywhere. The data itself says where it ends; `likelyEnd` is only how much is tried in one go by the fast decoder.
 */
export function inflateLeniently(
  packed: Blob,
  range: { start: number; likelyEnd: number },
  options: InflateOptions,
): Decoded {
  const likely = packed.bytes(range.start, Math.min(options.limit, range.likelyEnd - range.start));
  options.charge(likely.length);
  const strict = inflateStrictly(likely, options.limit);
  if (strict) return strict;
  let best: Decoded | undefined;
  const stream = packed.slice(0, Math.max(range.start, range.likelyEnd));
  for (const skipped of headerLengths(packed.bytes(range.start, 32))) {
    let decoded = inflateRawAsFarAsPossible(stream, range.start + skipped, options);
    if (!decoded.whole && range.start + skipped + decoded.consumed >= stream.size && stream.size < packed.size) {
      // The likely end may have been a word inside the data.
      const longer = inflateRawAsFarAsPossible(packed, range.start + skipped, options);
      if (longer.whole) decoded = longer;
    }
    decoded.consumed += skipped;
    if (!best || decoded.bytes.length > best.bytes.length) best = decoded;
    if (best.whole || best.tooLarge) break;
  }
  if (best?.whole) best.consumed += checksumLength(packed, range.start + best.consumed, range.likelyEnd);
  return best ?? { bytes: Buffer.alloc(0), consumed: 0, whole: false, tooLarge: false };
}

/** By the book: header, data and the right checksum. */
function inflateStrictly(packed: Buffer, limit: number): Decoded | undefined {
  try {
    // The types of Node do not know what `info` gives back.
    const result: unknown = inflateSync(packed, { info: true, maxOutputLength: limit });
    const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } };
    return { bytes: buffer, consumed: engine.bytesWritten, whole: true, tooLarge: false, byTheBook: true };
  } catch (error) {
    if (error instanceof RangeError) {
      return { bytes: Buffer.alloc(0), consumed: packed.length, whole: false, tooLarge: true };
    }
    return undefined;
  }
}

/** A buffer that grows up to a limit. */
export interface Output {
  bytes: Buffer;
  length: number;
  /** Makes room for so many bytes more; false if that is over the limit. */
  hasRoom(count: number): boolean;
  taken(): Buffer;
}

export function output(limit: number, expected: number): Output {
  const out: Output = {
    bytes: Buffer.alloc(Math.min(limit, expected)),
    length: 0,
    hasRoom(count) {
      if (out.length + count <= out.bytes.length) return true;
      if (out.length + count > limit) return false;
      const larger = Buffer.alloc(Math.min(limit, Math.max(1024, out.length + count, out.bytes.length * 2)));
      larger.set(out.bytes.subarray(0, out.length));
      out.bytes = larger;
      return true;
    },
    taken: () => out.bytes.subarray(0, out.length),
  };
  return out;
}

/** Whether something begins like zlib's format, as all compressed streams of a PDF should. */
export function looksCompressed(head: Uint8Array): boolean {
  const [first = 0, second = 0] = head;
  return (first & 0x8f) === DEFLATE && ((first << 8) | second) % 31 === 0;
}

/** Where the data itself may begin: behind blanks and the header, the header with a dictionary's number, or at once. */
function headerLengths(head: Buffer): number[] {
  let blanks = 0;
  while (blanks < 16 && isBlank(head[blanks])) blanks += 1;
  const lengths = new Set<number>();
  for (const start of [blanks, 0]) {
    if (((head[start] ?? 0) & 0x0f) !== DEFLATE) continue;
    lengths.add(start + 2);
    if (((head[start + 1] ?? 0) & 0x20) !== 0) lengths.add(start + 6);
  }
  lengths.add(blanks);
  lengths.add(0);
  return [...lengths];
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c || byte === 0;
}

/** Four bytes behind the data, if the stream is still that long: a wrong checksum is no data of its own. */
function checksumLength(packed: Blob, at: number, likelyEnd: number): number {
  return Math.max(0, Math.min(4, likelyEnd - at, packed.size - at));
}

/** The only method that zlib's header knows. */
const DEFLATE = 8;
const PAGE_BYTES = 16 * 1024;
const CODES_AT_MOST = 320;
const LENGTH_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LENGTH_BASE = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/** A Huffman code by how many codes of each length there are, and their symbols in order. Nothing to build per block. */
interface Code {
  counts: Uint16Array;
  symbols: Uint16Array;
}

const FIXED_LENGTHS = Uint8Array.from({ length: 288 }, (_, symbol) =>
  symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8,
);
const FIXED_LITERALS = codeOf(FIXED_LENGTHS, 0, 288);
const FIXED_DISTANCES = codeOf(new Uint8Array(30).fill(5), 0, 30);

function codeOf(lengths: Uint8Array, from: number, count: number): Code {
  const counts = new Uint16Array(16);
  for (let i = 0; i < count; i += 1) counts[lengths[from + i] ?? 0] = (counts[lengths[from + i] ?? 0] ?? 0) + 1;
  const offsets = new Uint16Array(16);
  for (let length = 1; length < 15; length += 1) {
    offsets[length + 1] = (offsets[length] ?? 0) + (counts[length] ?? 0);
  }
  const symbols = new Uint16Array(count);
  for (let i = 0; i < count; i += 1) {
    const length = lengths[from + i] ?? 0;
    if (length === 0) continue;
    const offset = offsets[length] ?? 0;
    symbols[offset] = i;
    offsets[length] = offset + 1;
  }
  return { counts, symbols };
}

const OUT_OF_DATA = -1;

/**
 * Node's zlib gives nothing at all when there is an error; readers keep what came before it. So this one is ours, for
 * streams that zlib refuses. Its codes are read bit by bit, which is slow and costs nothing to set up.
 */
function inflateRawAsFarAsPossible(packed: Blob, start: number, options: InflateOptions): Decoded {
  let page: Buffer = Buffer.alloc(0);
  let at = 0;
  let next = start;
  let hold = 0;
  let held = 0;
  const out = output(options.limit, PAGE_BYTES);
  let tooLarge = false;

  function bits(count: number): number {
    while (held < count) {
      if (at === page.length) {
        page = packed.bytes(next, PAGE_BYTES);
        if (page.length === 0) return OUT_OF_DATA;
        options.charge(page.length);
        next += page.length;
        at = 0;
      }
      hold |= (page[at] ?? 0) << held;
      at += 1;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  }

  function symbolOf({ counts, symbols }: Code): number {
    let code = 0;
    let first = 0;
    let index = 0;
    for (let size = 1; size <= 15; size += 1) {
      const bit = bits(1);
      if (bit < 0) return OUT_OF_DATA;
      code |= bit;
      const count = counts[size] ?? 0;
      if (code - count < first) return symbols[index + code - first] ?? OUT_OF_DATA;
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    return OUT_OF_DATA;
  }

  function put(byte: number): boolean {
    if (!out.hasRoom(1)) {
      tooLarge = true;
      return false;
    }
    out.bytes[out.length] = byte;
    out.length += 1;
    return true;
  }

  function copy(size: number, distance: number): boolean {
    if (!out.hasRoom(size)) {
      tooLarge = true;
      return false;
    }
    const { bytes, length } = out;
    for (let i = length; i < length + size; i += 1) bytes[i] = bytes[i - distance] ?? 0;
    out.length += size;
    return true;
  }

  function copyStored(): boolean {
    hold = 0;
    held = 0;
    const size = bits(16);
    const check = bits(16);
    if (size < 0 || check < 0 || (size ^ check) !== 0xffff) return false;
    for (let i = 0; i < size; i += 1) {
      const byte = bits(8);
      if (byte < 0 || !put(byte)) return false;
    }
    return true;
  }

  function readCodes(): [Code, Code] | undefined {
    const literals = bits(5) + 257;
    const distances = bits(5) + 1;
    const orders = bits(4) + 4;
    if (literals < 257 || distances < 1 || orders < 4) return undefined;
    const lengths = new Uint8Array(CODES_AT_MOST + 138);
    for (let i = 0; i < orders; i += 1) {
      const value = bits(3);
      if (value < 0) return undefined;
      lengths[LENGTH_ORDER[i] ?? 0] = value;
    }
    const code = codeOf(lengths, 0, 19);
    lengths.fill(0);
    for (let i = 0; i < literals + distances; ) {
      const symbol = symbolOf(code);
      if (symbol < 0) return undefined;
      if (symbol < 16) {
        lengths[i] = symbol;
        i += 1;
        continue;
      }
      const more = bits(symbol === 16 ? 2 : symbol === 17 ? 3 : 7);
      if (more < 0 || (symbol === 16 && i === 0)) return undefined;
      const repeat = more + (symbol === 18 ? 11 : 3);
      lengths.fill(symbol === 16 ? (lengths[i - 1] ?? 0) : 0, i, i + repeat);
      i += repeat;
    }
    return [codeOf(lengths, 0, literals), codeOf(lengths, literals, distances)];
  }

  function decodeBlock(literals: Code, distances: Code): boolean {
    for (;;) {
      const symbol = symbolOf(literals);
      if (symbol < 0) return false;
      if (symbol === 256) return true;
      if (symbol < 256) {
        if (!put(symbol)) return false;
        continue;
      }
      const base = LENGTH_BASE[symbol - 257];
      const more = bits(LENGTH_BITS[symbol - 257] ?? 0);
      const slot = symbolOf(distances);
      if (base === undefined || more < 0 || slot < 0 || slot > 29) return false;
      const extra = slot < 4 ? 0 : (slot >> 1) - 1;
      const low = bits(extra);
      const distance = (slot < 4 ? slot : (2 + (slot & 1)) << extra) + low + 1;
      if (low < 0 || distance > out.length || !copy(base + more, distance)) return false;
    }
  }

  function block(): "more" | "last" | "broken" {
    const last = bits(1);
    const type = bits(2);
    if (last < 0 || type < 0 || type === 3) return "broken";
    const codes: [Code, Code] | undefined = type === 2 ? readCodes() : [FIXED_LITERALS, FIXED_DISTANCES];
    const read = codes !== undefined && (type === 0 ? copyStored() : decodeBlock(...codes));
    return read ? (last ? "last" : "more") : "broken";
  }

  let state: "more" | "last" | "broken" = "more";
  while (state === "more") state = block();
  const consumed = next - page.length + at - start - (held >> 3);
  return { bytes: out.taken(), consumed, whole: state === "last", tooLarge };
}

/** The same for bytes in memory. */
export function inflateBytes(packed: Buffer, options: InflateOptions): Decoded {
  return inflateLeniently(memoryBlob(packed), { start: 0, likelyEnd: packed.length }, options);
}
