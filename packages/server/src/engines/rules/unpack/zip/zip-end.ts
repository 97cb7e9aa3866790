import type { Blob } from "../../look/blob.ts";

/** Where the last zip archive of a file is, as its directory says. */
export interface ZipExtent {
  /** Where the first of its members begins. Anything may stand before it. */
  start: number;
  /** Where its end record, with the comment, ends. Anything may stand behind it. */
  end: number;
  /** Members with content that claim to be folders or links, so that 7-Zip passes over it. Others may not. */
  passedOver: readonly ListedMember[];
}

export interface ListedMember {
  /** Where its header is in the file. */
  position: number;
  packedBytes: number;
}

/**
 * Finds the zip archive that a file ends with, which is where most programs look, whatever the file begins with.
 * Nothing is found if the end is missing (a truncated archive) or points to no directory.
 */
export function lastZip(content: Blob): ZipExtent | undefined {
  const tailStart = Math.max(0, content.size - TAIL_BYTES);
  const tail = content.bytes(tailStart, TAIL_BYTES);
  for (let at = tail.length - END_BYTES; at >= 0; at -= 1) {
    at = tail.lastIndexOf(END, at);
    if (at < 0) return undefined;
    const extent = extentOf(content, tail.subarray(at), tailStart + at);
    if (extent) return extent;
  }
  return undefined;
}

const END = Buffer.from("PK\x05\x06", "latin1");
const END_BYTES = 22;
/** The longest comment, the end record, and room for a signature that a program carries behind its archive. */
const TAIL_BYTES = 0xffff + END_BYTES + 64 * 1024;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCATOR64 = 0x07064b50;
const LOCATOR64_BYTES = 20;
const END64 = 0x06064b50;
const END64_BYTES = 56;

interface Directory {
  size: number;
  /** As counted from where the archive begins, in the opinion of who wrote it. */
  offset: number;
  /** Where the directory should end. */
  end: number;
}

function extentOf(content: Blob, record: Buffer, position: number): ZipExtent | undefined {
  const directory = directoryOf(content, record, position);
  if (!directory) return undefined;
  const end = Math.min(content.size, position + END_BYTES + record.readUInt16LE(20));
  // An archive without members is its end record alone.
  if (directory.size === 0) {
    return directory.offset === position || position === 0 ? { start: position, end, passedOver: [] } : undefined;
  }
  for (const at of new Set([directory.end - directory.size, directory.offset])) {
    if (at < 0 || at + directory.size > position || u32(content, at) !== ENTRY) continue;
    const { lowest, passedOver } = readDirectory(content.bytes(at, Math.min(directory.size, DIRECTORY_BYTES_READ)));
    const base = at - directory.offset;
    const first = base + lowest;
    const placed = passedOver.map((member) => ({ ...member, position: base + member.position }));
    return { start: first >= 0 && first < at ? first : 0, end, passedOver: placed };
  }
  return undefined;
}

function directoryOf(content: Blob, record: Buffer, position: number): Directory | undefined {
  const [size, offset] = [record.readUInt32LE(12), record.readUInt32LE(16)];
  if (size !== 0xffffffff && offset !== 0xffffffff) return { size, offset, end: position };
  if (position < LOCATOR64_BYTES + END64_BYTES) return undefined;

  const locator = content.bytes(position - LOCATOR64_BYTES, LOCATOR64_BYTES);
  if (locator.readUInt32LE(0) !== LOCATOR64) return undefined;
  for (const at of [position - LOCATOR64_BYTES - END64_BYTES, Number(locator.readBigUInt64LE(8))]) {
    if (at + END64_BYTES > content.size || u32(content, at) !== END64) continue;
    const end64 = content.bytes(at, END64_BYTES);
    return { size: Number(end64.readBigUInt64LE(40)), offset: Number(end64.readBigUInt64LE(48)), end: at };
  }
  return undefined;
}

/** The smallest offset of a member, and those that 7-Zip passes over; positions as the directory counts them. */
function readDirectory(bytes: Buffer): { lowest: number; passedOver: ListedMember[] } {
  const passedOver: ListedMember[] = [];
  let lowest = Number.POSITIVE_INFINITY;
  let at = 0;
  while (at + ENTRY_BYTES <= bytes.length && bytes.readUInt32LE(at) === ENTRY) {
    const position = bytes.readUInt32LE(at + 42);
    const nameBytes = bytes.readUInt16LE(at + 28);
    lowest = Math.min(lowest, position);
    const name = bytes.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes);
    const unpackedBytes = bytes.readUInt32LE(at + 24);
    if (unpackedBytes > 0 && isNoFile(name, bytes.readUInt32LE(at + 38))) {
      passedOver.push({ position, packedBytes: bytes.readUInt32LE(at + 20) });
    }
    at += ENTRY_BYTES + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return { lowest, passedOver };
}

/** More than ten thousand members with long names; archives with more are over the limit anyway. */
const DIRECTORY_BYTES_READ = 4 * 1024 * 1024;
const DOS_FOLDER = 0x10;
const UNIX_KIND = 0o170000;
const UNIX_NO_FILE: readonly number[] = [0o040000, 0o120000];

/** By its name, or by either of the attributes, whichever system the archive says it comes from. */
function isNoFile(name: Buffer, attributes: number): boolean {
  const last = name.at(-1);
  if (last === 0x2f || last === 0x5c) return true;
  return (attributes & DOS_FOLDER) !== 0 || UNIX_NO_FILE.includes((attributes >>> 16) & UNIX_KIND);
}

function u32(content: Blob, position: number): number {
  const bytes = content.bytes(position, 4);
  return bytes.length === 4 ? bytes.readUInt32LE(0) : -1;
}
