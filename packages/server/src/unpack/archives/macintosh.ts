import type { Blob } from "../blob.ts";
import { bytePattern } from "../byte-pattern.ts";
import { emit, emitStored, type Opener, type Outcome, type Range, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Files of the Macintosh have two parts, the data and the resources. Whoever sends one to other systems packs both into one
 * file: AppleSingle and AppleDouble, MacBinary, and BinHex, which is text.
 */
export const appleDouble: Opener = {
  kind: "apple-double",
  archive: true,
  find: (content) => (isAppleDouble(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const count = headOf(container).readUInt16BE(24);
    const table = container.bytes(DOUBLE_HEADER, count * DOUBLE_ENTRY);
    const covered: Range[] = [{ start: 0, end: DOUBLE_HEADER + table.length }];
    for (let at = 0; at + DOUBLE_ENTRY <= table.length; at += DOUBLE_ENTRY) {
      tools.budget.check();
      const [id, start, length] = [0, 4, 8].map((field) => table.readUInt32BE(at + field)) as [number, number, number];
      const part = { start, end: Math.min(container.size, start + length) };
      if (part.end <= start) continue;
      const content = container.slice(start, part.end);
      emitStored(tools.sink, { name: DOUBLE_NAMES[id] ?? `part ${id}`, content });
      covered.push(part);
    }
    return { kind: "opened", covered };
  },
};

const isAppleDouble = bytePattern("00 05 16 00-07 00 01-02 00 00 ..*16 00 01-20");
const DOUBLE_HEADER = 26;
const DOUBLE_ENTRY = 12;
const DOUBLE_NAMES: Readonly<Record<number, string>> = { 1: "data", 2: "resources" };

export const macBinary: Opener = {
  kind: "macbinary",
  archive: true,
  find: (content) => (isMacBinary(headOf(content), content.size) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const header = container.bytes(0, BLOCK);
    const name = header.toString("latin1", 2, 2 + header.readUInt8(1));
    const start = BLOCK + padded(header.readUInt16BE(120));
    const middle = start + padded(header.readUInt32BE(83));
    const parts = [
      { start, end: start + header.readUInt32BE(83) },
      { start: middle, end: middle + header.readUInt32BE(87) },
    ];
    for (const part of parts) emitStored(tools.sink, { name, content: container.slice(part.start, part.end) });
    return { kind: "opened", covered: [{ start: 0, end: start }, ...parts] };
  },
};

const BLOCK = 128;
const padded = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/** The second version has a checksum. The first has zeros where that is, and sizes that add up. */
function isMacBinary(head: Buffer, size: number): boolean {
  if (head.length < BLOCK || head[0] !== 0 || head[74] !== 0 || head[82] !== 0) return false;
  const nameBytes = head.readUInt8(1);
  if (nameBytes < 1 || nameBytes > 63 || head.subarray(2, 2 + nameBytes).some((byte) => byte < 0x20)) return false;
  const [data, resources, extra] = [head.readUInt32BE(83), head.readUInt32BE(87), head.readUInt16BE(120)];
  const stated = BLOCK + padded(extra) + padded(data) + padded(resources);
  if (data + resources === 0 || stated - BLOCK >= padded(size)) return false;
  if (crc16(head.subarray(0, 124)) === head.readUInt16BE(124)) return true;
  return head.subarray(99, BLOCK).every((byte) => byte === 0) && padded(size) === stated && head.readUInt32BE(65) !== 0;
}

/** CRC-16 as XMODEM has it. */
function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** Text, and what it begins with may stand behind the headers of a mail. */
export const binHex: Opener = {
  kind: "binhex",
  archive: true,
  find(content) {
    const at = headOf(content).indexOf(BINHEX_MARK);
    const isLine = at === 0 || (at > 0 && /[\r\n]/.test(content.bytes(at - 1, 1).toString("latin1")));
    return isLine ? [{ start: at, end: content.size, sure: true }] : [];
  },
  open: openBinHex,
};

const BINHEX_MARK = Buffer.from("(This file must be converted with BinHex");
const ALPHABET = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
const VALUES = Int8Array.from({ length: 256 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const COLON = 0x3a;
const REPEAT = 0x90;
const CRC_BYTES = 2;

/** From one colon to the next: six bits a character, then runs of a byte that are written as one and how many. */
function openBinHex(container: Blob, { sink, budget }: Tools): Outcome {
  const text = container.bytes(0, budget.limits.memberInMemoryBytes);
  budget.addWork(text.length);
  const start = text.indexOf(COLON, text.indexOf("\n".charCodeAt(0)) < 0 ? text.indexOf(0x0d) : text.indexOf(0x0a));
  if (start < 0) return { kind: "unreadable" };
  const six = Buffer.alloc(text.length - start);
  let [count, end] = [0, start + 1];
  for (; end < text.length && text[end] !== COLON; end += 1) {
    const value = VALUES[text[end] as number] as number;
    if (value < 0 && !/\s/.test(String.fromCharCode(text[end] as number))) return { kind: "unreadable" };
    if (value >= 0) six[count++] = value;
  }
  const file = unrun(eights(six.subarray(0, count)), budget.limits.memberInMemoryBytes);
  if (!file) return { kind: "too-large" };
  const nameBytes = file[0] ?? 0;
  const sizes = 1 + nameBytes + 1 + 4 + 4 + 2;
  if (end >= text.length || nameBytes === 0 || file.length < sizes + 8 + CRC_BYTES) return { kind: "unreadable" };
  const dataStart = sizes + 8 + CRC_BYTES;
  const resourcesStart = dataStart + file.readUInt32BE(sizes) + CRC_BYTES;
  const resourcesEnd = resourcesStart + file.readUInt32BE(sizes + 4);
  const name = file.toString("latin1", 1, 1 + nameBytes);
  emit(sink, { name, content: file.subarray(dataStart, resourcesStart - CRC_BYTES) });
  emit(sink, { name, content: file.subarray(resourcesStart, resourcesEnd) });
  if (resourcesEnd > file.length) return { kind: "unreadable" };
  // What is between the parts is two checksums; behind them there may be more that no program writes out.
  emit(sink, { name: "rest", content: file.subarray(resourcesEnd + CRC_BYTES) });
  return { kind: "opened", covered: end + 1 >= text.length ? whole(container) : [{ start: 0, end: end + 1 }] };
}

function eights(six: Buffer): Buffer {
  const bytes = Buffer.alloc(Math.floor((six.length * 6) / 8));
  for (let at = 0, bits = 0, held = 0, out = 0; at < six.length; at += 1) {
    held = ((held << 6) | (six[at] as number)) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[out++] = (held >> bits) & 0xff;
  }
  return bytes;
}

/** A mark of zero times is the byte itself. Nothing if it becomes too large. */
function unrun(bytes: Buffer, most: number): Buffer | undefined {
  const pieces: Buffer[] = [];
  let [total, from, last] = [0, 0, 0];
  const add = (piece: Buffer): void => {
    pieces.push(piece);
    total += piece.length;
  };
  for (let at = bytes.indexOf(REPEAT); at >= 0 && at + 1 < bytes.length; at = bytes.indexOf(REPEAT, from)) {
    const times = bytes[at + 1] as number;
    if (at > from) last = bytes[at - 1] as number;
    if (times === 0) last = REPEAT;
    add(bytes.subarray(from, times === 0 ? at + 1 : at));
    if (times > 1) add(Buffer.alloc(times - 1, last));
    from = at + 2;
    if (total > most) return undefined;
  }
  add(bytes.subarray(from));
  return Buffer.concat(pieces);
}
