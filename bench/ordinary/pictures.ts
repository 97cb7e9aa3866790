import { crc32, deflateSync } from "node:zlib";
import type { Random } from "./random.ts";

/**
 * A baseline JPEG that decodes, of blocks with a few random coefficients: about as many bits for a pixel as a photograph.
 * All codes have the same length, which spares an encoder: 3 bits for the size of the first coefficient, 4 for the others.
 */
export function jpeg(random: Random, width: number, height: number): Buffer {
  const tables = [
    segment(0xdb, [0, ...Array<number>(64).fill(8)]),
    segment(0xc0, [8, ...u16(height), ...u16(width), 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]),
    segment(0xc4, [0x00, ...counts(3, FIRST_SIZES.length), ...FIRST_SIZES]),
    segment(0xc4, [0x10, ...counts(4, SYMBOLS.length), ...SYMBOLS]),
    segment(0xda, [3, 1, 0, 2, 0, 3, 0, 0, 63, 0]),
  ];
  const jfif = segment(0xe0, [...Buffer.from("JFIF\0"), 1, 1, 0, 0, 72, 0, 72, 0, 0]);
  const blocks = 3 * Math.ceil(width / 8) * Math.ceil(height / 8);
  return Buffer.concat([Buffer.of(0xff, 0xd8), jfif, ...tables, coefficients(random, blocks), Buffer.of(0xff, 0xd9)]);
}

const FIRST_SIZES = [0, 1, 2, 3];
/** How many zeros come before a coefficient, and its size in bits; the first says that the rest of the block is zero. */
const SYMBOLS = [0x00, 0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x21, 0x22, 0x31, 0x32, 0x41, 0x51, 0x61];

function coefficients(random: Random, blocks: number): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let pending = 0;
  const put = (value: number, length: number): void => {
    pending = ((pending << length) | value) & 0xffffff;
    bits += length;
    while (bits >= 8) {
      bits -= 8;
      const byte = (pending >>> bits) & 0xff;
      bytes.push(byte);
      // Markers begin with this byte; a zero says that it is none.
      if (byte === 0xff) bytes.push(0);
    }
  };
  for (let block = 0; block < blocks; block += 1) {
    const first = random.next(FIRST_SIZES.length);
    put(first, 3);
    put(random.next(1 << first), first);
    for (let at = 1, left = random.next(9); left > 0; left -= 1) {
      const index = 1 + random.next(SYMBOLS.length - 1);
      const symbol = SYMBOLS[index] ?? 1;
      at += 1 + (symbol >> 4);
      if (at > 63) break;
      put(index, 4);
      put(random.next(1 << (symbol & 15)), symbol & 15);
    }
    put(0, 4);
  }
  put(0x7f, 7);
  return Buffer.from(bytes);
}

/** A PNG of 24 bits with a gradient and some grain, as a screenshot with a picture in it. */
export function png(random: Random, width: number, height: number): Buffer {
  const rows = Buffer.alloc((1 + 3 * width) * height);
  for (let y = 0, at = 0; y < height; y += 1) {
    at += 1;
    const grained = (y >> 6) % 3 === 0;
    for (let x = 0; x < width; x += 1) {
      const grain = grained ? random.next(24) : 0;
      rows[at++] = (x >> 2) + grain;
      rows[at++] = (y >> 2) + grain;
      rows[at++] = 200;
    }
  }
  const header = Buffer.from([...u32(width), ...u32(height), 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), content]);
  return Buffer.concat([Buffer.from(u32(content.length)), named, Buffer.from(u32(crc32(named)))]);
}

function segment(marker: number, content: readonly number[]): Buffer {
  return Buffer.from([0xff, marker, ...u16(content.length + 2), ...content]);
}

/** How many codes there are of each length from 1 to 16. */
function counts(length: number, codes: number): number[] {
  return Array.from({ length: 16 }, (_, index) => (index + 1 === length ? codes : 0));
}

function u16(value: number): number[] {
  return [value >> 8, value & 0xff];
}

function u32(value: number): number[] {
  return [value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff];
}
