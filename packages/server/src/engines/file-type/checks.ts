import { constants, inflateSync } from "node:zlib";
import { bytesAt, type Sample, textOf, u16be, u16le, u32be, u32le } from "./sample.ts";

// Kinds of files that bytes at fixed places do not give away: their headers must make sense, and agree with the size.

const PDF_WITHIN = 1024;

/** PDF readers take the header anywhere in the first 1024 bytes; late ones need the rest of a PDF, too. */
export function isPdf({ head, tail }: Sample): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const at = bytes.subarray(0, PDF_WITHIN + 5).indexOf("%PDF-");
  if (at < 0) return false;
  if (/^(?:\xef\xbb\xbf)?\s*$/.test(bytes.toString("latin1", 0, at))) return true;
  const end = Buffer.from(tail.buffer, tail.byteOffset, tail.length);
  return bytes.includes(" obj", at) && (bytes.includes("endobj", at) || end.includes("%%EOF"));
}

const TAR_BLOCK = 512;

/** The oldest tars have no mark, but a sum of the header's bytes in octal. */
export function isTar({ head }: Sample): boolean {
  if (head.length < TAR_BLOCK || head[0] === 0) return false;
  const stated = /^[ 0]*([0-7]{3,6})[ \0]/.exec(textOf(head, 148, 8))?.[1];
  if (stated === undefined) return false;
  let sum = 8 * 0x20;
  for (let at = 0; at < TAR_BLOCK; at++) if (at < 148 || at >= 156) sum += head[at] ?? 0;
  return sum === Number.parseInt(stated, 8);
}

/** zlib has two bytes of header that check each other; some of what follows has to come out. */
export function isZlib({ head }: Sample): boolean {
  const header = u16be(head, 0);
  if ((header & 0x8f20) !== 0x0800 || header % 31 !== 0) return false;
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 1024 * 1024 };
    return inflateSync(head.subarray(0, 1000), options).length > 0;
  } catch {
    return false;
  }
}

/** A resource fork in a file of its own: its map, at the end, lists fonts. */
export function isDfont(sample: Sample): boolean {
  const { head, sizeBytes } = sample;
  const [start, map, length, mapLength] = [0, 4, 8, 12].map((at) => u32be(head, at)) as [
    number,
    number,
    number,
    number,
  ];
  if (start < 16 || start + length > map || map + mapLength > sizeBytes || mapLength < 30) return false;
  const listed = bytesAt(sample, map, Math.min(mapLength, 1024));
  return /sfnt|FOND|NFNT|FONT/.test(textOf(listed, u16be(listed, 24) + 2, 8 * (u16be(listed, 28) + 1)));
}

const DBASE_VERSIONS = [0x02, 0x03, 0x04, 0x05, 0x30, 0x31, 0x32, 0x43, 0x63, 0x7b, 0x83, 0x8b, 0x8e, 0xcb, 0xf5];

/** Version, date of the last change, records, bytes of header and of one record. */
export function isDbase({ head, sizeBytes }: Sample): boolean {
  const [version = 0, , month = 0, day = 0] = head;
  const [records, headerBytes, recordBytes] = [u32le(head, 4), u16le(head, 8), u16le(head, 10)];
  if (!DBASE_VERSIONS.includes(version) || month > 12 || day > 31) return false;
  if (headerBytes < 65 || recordBytes < 2 || headerBytes > sizeBytes) return false;
  if (Math.abs(headerBytes + records * recordBytes - sizeBytes) > recordBytes + 512) return false;
  return (
    [0x0d, 0].includes(head[headerBytes - 1] ?? 0x0d) && (head[32] ?? 0) > 0x20 && head.subarray(33, 43).includes(0)
  );
}

const BITMAP_HEADER = 40;

/** A list of pictures that lie within the file, the first of them a bitmap or a PNG. */
export function isIcon(sample: Sample, type: 1 | 2): boolean {
  const { head, sizeBytes } = sample;
  const count = u16le(head, 4);
  if (u16le(head, 0) !== 0 || u16le(head, 2) !== type || count === 0 || count > 1024) return false;
  const [length, at] = [u32le(head, 14), u32le(head, 18)];
  if (at < 6 + 16 * count || at + Math.min(length, BITMAP_HEADER) > sizeBytes) return false;
  const picture = bytesAt(sample, at, 4);
  return picture.length < 4 || [BITMAP_HEADER, 12, 0x474e5089].includes(u32le(picture, 0));
}

export function isPcx({ head }: Sample): boolean {
  const [mark, version = 9, packed = 9, bits = 0] = head;
  if (mark !== 10 || version > 5 || version === 1 || packed > 1 || ![1, 2, 4, 8].includes(bits)) return false;
  const planes = head[65] ?? 0;
  return u16le(head, 8) >= u16le(head, 4) && u16le(head, 10) >= u16le(head, 6) && planes >= 1 && planes <= 4;
}

const TGA_TYPES = [1, 2, 3, 9, 10, 11];

/** No signature at all: sizes, depths and flags that agree, and room for the pixels. */
export function isTga({ head, sizeBytes }: Sample): boolean {
  if (head.length < 18) return false;
  const [idBytes = 0, mapped = 0, type = 0] = head;
  const [mapLength, mapBits, width, height] = [u16le(head, 5), head[7] ?? 0, u16le(head, 12), u16le(head, 14)];
  const [bits = 0, flags = 0] = head.subarray(16, 18);
  if (!TGA_TYPES.includes(type) || mapped > 1 || ![8, 15, 16, 24, 32].includes(bits) || (flags & 0xc0) !== 0)
    return false;
  if (mapped === 1 ? ![15, 16, 24, 32].includes(mapBits) || mapLength === 0 : u32le(head, 3) !== 0) return false;
  if ((type & 7) === 1 && mapped === 0) return false;
  if (width === 0 || height === 0 || ![0, 1, 8].includes(flags & 15)) return false;
  const pixels = (width * height * Math.ceil(bits / 8)) / (type > 8 ? 128 : 1);
  return sizeBytes >= 18 + idBytes + mapLength * Math.ceil(mapBits / 8) + Math.floor(pixels);
}

/** 80 bytes of anything, a number of triangles, 50 bytes for each. */
export function isStl({ head, sizeBytes }: Sample): boolean {
  const triangles = u32le(head, 80);
  return triangles > 0 && sizeBytes === 84 + 50 * triangles;
}

/** The commands BEGIN METAFILE, with a name of any length, and METAFILE VERSION. */
export function isCgm({ head }: Sample): boolean {
  const begin = u16be(head, 0);
  if (begin < 0x20 || begin > 0x3f) return false;
  const long = begin === 0x3f;
  const name = long ? u16be(head, 2) : begin & 0x1f;
  return u16be(head, (long ? 4 : 2) + name + (name % 2)) === 0x1022;
}

/** One packet of 188 bytes after another, maybe with a time of 4 bytes before each. */
export function isTransportStream({ head }: Sample): boolean {
  return [188, 192, 204].some((step) =>
    [0, 1, 2, 3].every((packet) => head[packet * step + (step === 192 ? 4 : 0)] === 0x47),
  );
}

/** Sound in frames: each tells how long it is, and where it ends the next one begins. */
function isFrames({ head, sizeBytes }: Sample, frameBytes: (at: number) => number): boolean {
  let at = 0;
  for (let frame = 0; frame < 3; frame++) {
    const length = frameBytes(at);
    if (length < 7) return false;
    at += length;
    if (at >= head.length) return frame > 0 || at <= sizeBytes;
  }
  return true;
}

const AC3_KBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];

export function isAc3(sample: Sample): boolean {
  const { head } = sample;
  return isFrames(sample, (at) => {
    const [rate, size, version] = [(head[at + 4] ?? 0) >> 6, (head[at + 4] ?? 0) & 0x3f, (head[at + 5] ?? 0) >> 3];
    if (u16be(head, at) !== 0x0b77 || version > 16) return 0;
    if (version > 10) return 2 * ((u16be(head, at + 2) & 0x7ff) + 1);
    const kbits = AC3_KBITS[size >> 1] ?? 0;
    const words = [2 * kbits, Math.floor((320 * kbits) / 147) + (size & 1), 3 * kbits][rate] ?? 0;
    return 2 * words;
  });
}

export function isAac(sample: Sample): boolean {
  const { head } = sample;
  return isFrames(sample, (at) => {
    if ((u16be(head, at) & 0xfff6) !== 0xfff0 || ((head[at + 2] ?? 0xff) & 0x3c) > 0x30) return 0;
    return (u32be(head, at + 2) >> 5) & 0x1fff;
  });
}

export const isMp3 = (sample: Sample): boolean => isMpegAudio(sample, 1);
export const isMp2 = (sample: Sample): boolean => isMpegAudio(sample, 2) || isMpegAudio(sample, 3);

const KBITS: Readonly<Record<string, readonly number[]>> = {
  "1.1": [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  "1.2": [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  "1.3": [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  "2.1": [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  "2.3": [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
};

/** `layer` as headers write it: 1 is layer III, 3 is layer I. */
function isMpegAudio(sample: Sample, layer: 1 | 2 | 3): boolean {
  const { head } = sample;
  return isFrames(sample, (at) => {
    const header = u32be(head, at);
    const version = (header >> 19) & 3;
    const hertz = [44_100, 48_000, 32_000][(header >> 10) & 3];
    if (header >>> 21 !== 0x7ff || version === 1 || ((header >> 17) & 3) !== layer || !hertz) return 0;
    const table = version === 3 ? `1.${layer}` : layer === 3 ? "2.3" : "2.1";
    const kbits = KBITS[table]?.[((header >> 12) & 15) - 1] ?? 0;
    const rate = version === 3 ? hertz : version === 2 ? hertz / 2 : hertz / 4;
    const padding = (header >> 9) & 1;
    if (kbits === 0) return 0;
    if (layer === 3) return 4 * (Math.floor((12_000 * kbits) / rate) + padding);
    return Math.floor(((version !== 3 && layer === 1 ? 72_000 : 144_000) * kbits) / rate) + padding;
  });
}
