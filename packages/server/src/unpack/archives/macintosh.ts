import type { Range } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { emitStored, type Opener } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Files of the Macintosh have two parts, the data and the resources. Whoever sends one to other systems packs both into one
 * file: AppleSingle and AppleDouble, and MacBinary.
 */
export const appleDouble: Opener = {
  kind: "apple-double",
  archive: true,
  knownBy: [byteAt(0, "00")],
  find: (content) => (isAppleDouble(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const count = headOf(container).readUInt16BE(24);
    const table = container.bytes(DOUBLE_HEADER, count * DOUBLE_ENTRY);
    const covered: Range[] = [{ start: 0, end: DOUBLE_HEADER + table.length }];
    let isCut = table.length < count * DOUBLE_ENTRY;
    for (let at = 0; at + DOUBLE_ENTRY <= table.length; at += DOUBLE_ENTRY) {
      tools.budget.check();
      const [id, start, length] = [0, 4, 8].map((field) => table.readUInt32BE(at + field)) as [number, number, number];
      if (length > 0 && start + length > container.size) isCut = true;
      const part = { start, end: Math.min(container.size, start + length) };
      if (part.end <= start) continue;
      const content = container.slice(start, part.end);
      emitStored(tools.sink, { name: DOUBLE_NAMES[id] ?? `part ${id}`, content });
      covered.push(part);
    }
    return isCut ? { kind: "unreadable" } : { kind: "opened", covered };
  },
};

const isAppleDouble = bytePattern("00 05 16 00-07 00 01-02 00 00 ..*16 00 01-20");
const DOUBLE_HEADER = 26;
const DOUBLE_ENTRY = 12;
const DOUBLE_NAMES: Readonly<Record<number, string>> = { 1: "data", 2: "resources" };

export const macBinary: Opener = {
  kind: "macbinary",
  archive: true,
  knownBy: [byteAt(0, "00")],
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
    // One that was cut off comes out as far as it goes.
    if (parts.some(({ start: from, end }) => end > from && end > container.size)) return { kind: "unreadable" };
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
  if (data + resources === 0) return false;
  if (crc16(head.subarray(0, 124)) === head.readUInt16BE(124)) return true;
  if (stated - BLOCK >= padded(size)) return false;
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
