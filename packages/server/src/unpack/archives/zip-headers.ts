import type { Blob, Range } from "../blob.ts";
import { type Budget, LimitExceeded } from "../budget.ts";
import { findAll } from "../signature-search.ts";

/** What the directory of a zip says about one member. */
export interface Listed {
  /** Where its local header should be, counted in the container. */
  position: number;
  flags: number;
  method: number;
  crc: number;
  packedBytes: number;
  unpackedBytes: number;
  /** As bytes, one character each; of a long one the beginning. */
  name: string;
}

/** As much of a name as is kept. The headers of many members may share one name, which then is there once for each. */
export const NAME_BYTES = 512;

export interface Directories {
  listed: Listed[];
  /** Where directories and their end records stand. */
  records: Range[];
  /** A directory that says of itself more than is there. */
  damaged: boolean;
  /** There is one directory, right in front of its one end record, without zip64, and nothing behind it but its comment. */
  byTheBook: boolean;
}

export const FLAG = { encrypted: 0x1, sizesFollow: 0x8, directoryHidden: 0x2000 } as const;

const END = Buffer.from("PK\x05\x06", "latin1");
const END_BYTES = 22;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
const LOCATOR64 = 0x07064b50;
const LOCATOR64_BYTES = 20;
const END64 = 0x06064b50;
const END64_BYTES = 56;
const UNKNOWN32 = 0xffffffff;
const UNKNOWN16 = 0xffff;
const ZIP64_FIELD = 1;

/**
 * All directories of a container. Programs disagree about which end record counts, the first, the last, or the last one that
 * makes sense: so all of them do, except for one that stands in a member, which is found again when that member is opened.
 */
export function readDirectories(container: Blob, budget: Budget): Directories {
  const found: Directories = { listed: [], records: [], damaged: false, byTheBook: false };
  let ends = 0;
  let strays = 0;
  let plain = false;
  const positions: number[] = [];
  for (const position of findAll(container, END, budget)) {
    if (positions.length === ENDS_AT_MOST) return { ...found, damaged: true };
    positions.push(position);
  }
  for (const position of positions.reverse()) {
    budget.addWork(found.listed.length);
    if (isInMember(found.listed, position)) continue;
    strays += 1;
    const record = container.bytes(position, END_BYTES);
    if (record.length < END_BYTES) continue;
    const end = Math.min(container.size, position + END_BYTES + record.readUInt16LE(20));
    const stated = statedDirectory(container, record, position);
    if (!stated) continue;
    const { entries } = stated;
    if (stated.size === 0 && entries === 0) {
      // The end record of an empty archive: only at the front of something is it one, not anywhere in other data.
      if (position === 0) found.records.push({ start: position, end: position + END_BYTES });
      continue;
    }
    const start = entriesAt(container, stated, position);
    if (start === undefined) continue;
    ends += 1;
    const read = readEntries(container, { start, end: stated.end, base: start - stated.offset, budget });
    for (const entry of read.listed) found.listed.push(entry);
    if (found.listed.length > budget.limits.members * DIRECTORIES_AT_MOST) throw new LimitExceeded("members");
    // The comment is left over: anything may stand in it, and programs that look for the last end record find it there.
    found.records.push({ start, end: read.end }, { start: stated.end, end: position + END_BYTES });
    plain = !stated.zip64 && start === stated.offset && read.end === position && end === container.size;
    plain &&= read.listed.length === entries;
    if (read.listed.length < entries) found.damaged = true;
  }
  // One that leads nowhere is still what some programs, clamd for one, go by.
  return { ...found, byTheBook: ends === 1 && strays === 1 && plain };
}

/** An archive in the comment of another, a few behind one another; more than this is made to keep us busy. */
const ENDS_AT_MOST = 10_000;
/** So many directories may list as many members as there may be: end records that share one would fill the memory with it. */
const DIRECTORIES_AT_MOST = 2;

/** `listed` is in the order in which directories were read, nearly always that of their positions. */
function isInMember(listed: readonly Listed[], position: number): boolean {
  return listed.some((one) => position > one.position && position < one.position + ENTRY_BYTES + one.packedBytes);
}

/** Where the archive begins that an end record speaks of; nothing if there is no directory. */
export function startOfArchive(container: Blob, position: number): number | undefined {
  const record = container.bytes(position, END_BYTES);
  const stated = record.length === END_BYTES ? statedDirectory(container, record, position) : undefined;
  if (!stated) return undefined;
  const directory = entriesAt(container, stated, position);
  return directory === undefined ? undefined : Math.max(0, directory - stated.offset);
}

/** The end records that programs find which look for them from the back, as far as a comment may be long. */
export function endsAtBack(container: Blob): number[] {
  const start = Math.max(0, container.size - END_BYTES - UNKNOWN16);
  const tail = container.bytes(start, END_BYTES + UNKNOWN16);
  const found: number[] = [];
  for (let at = tail.lastIndexOf(END); at >= 0 && found.length < ENDS_AT_BACK; at = tail.lastIndexOf(END, at - 1)) {
    found.push(start + at);
    if (at === 0) break;
  }
  return found;
}

const ENDS_AT_BACK = 16;

function entriesAt(container: Blob, { end, size, offset }: Stated, position: number): number | undefined {
  return [end - size, offset].find((at) => at >= 0 && at < position && u32(container, at) === ENTRY);
}

interface Stated {
  size: number;
  /** As counted from where the archive begins, in the opinion of who wrote it. */
  offset: number;
  /** Where the directory should end. */
  end: number;
  entries: number;
  zip64: boolean;
}

function statedDirectory(container: Blob, record: Buffer, position: number): Stated | undefined {
  const [entries, size, offset] = [record.readUInt16LE(10), record.readUInt32LE(12), record.readUInt32LE(16)];
  if (size !== UNKNOWN32 && offset !== UNKNOWN32 && entries !== UNKNOWN16) {
    return { size, offset, end: position, entries, zip64: false };
  }
  // As many as can be said here, or more.
  const plain = { size, offset, end: position, entries: Math.min(entries, UNKNOWN16 - 1), zip64: false };
  if (position < LOCATOR64_BYTES + END64_BYTES) return plain;
  const locator = container.bytes(position - LOCATOR64_BYTES, LOCATOR64_BYTES);
  if (locator.readUInt32LE(0) !== LOCATOR64) return plain;
  for (const at of [position - LOCATOR64_BYTES - END64_BYTES, Number(locator.readBigUInt64LE(8))]) {
    if (at < 0 || at + END64_BYTES > container.size || u32(container, at) !== END64) continue;
    const end64 = container.bytes(at, END64_BYTES);
    return {
      size: Number(end64.readBigUInt64LE(40)),
      offset: Number(end64.readBigUInt64LE(48)),
      end: at,
      entries: Number(end64.readBigUInt64LE(32)),
      zip64: true,
    };
  }
  return plain;
}

function readEntries(
  container: Blob,
  { start, end, base, budget }: { start: number; end: number; base: number; budget: Budget },
): { listed: Listed[]; end: number } {
  const listed: Listed[] = [];
  const bytes = container.bytes(start, Math.min(end - start, DIRECTORY_BYTES_READ));
  budget.addWork(bytes.length);
  let at = 0;
  while (at + ENTRY_BYTES <= bytes.length && bytes.readUInt32LE(at) === ENTRY) {
    if (listed.length > budget.limits.members) throw new LimitExceeded("members");
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const extraStart = at + ENTRY_BYTES + (nameBytes ?? 0);
    const sizes = zip64Sizes(bytes.subarray(extraStart, extraStart + (extraBytes ?? 0)), {
      unpackedBytes: bytes.readUInt32LE(at + 24),
      packedBytes: bytes.readUInt32LE(at + 20),
      offset: bytes.readUInt32LE(at + 42),
    });
    listed.push({
      position: base + sizes.offset,
      flags: bytes.readUInt16LE(at + 8),
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      packedBytes: sizes.packedBytes,
      unpackedBytes: sizes.unpackedBytes,
      name: bytes.toString("latin1", at + ENTRY_BYTES, Math.min(extraStart, at + ENTRY_BYTES + NAME_BYTES)),
    });
    at = extraStart + (extraBytes ?? 0) + (commentBytes ?? 0);
  }
  return { listed, end: start + at };
}

/** A hundred thousand members with long names; archives with more are over the limit anyway. */
const DIRECTORY_BYTES_READ = 64 * 1024 * 1024;

/** Those of the three that do not fit into 32 bits stand in the extra field, in this order. */
function zip64Sizes(
  extra: Buffer,
  given: { unpackedBytes: number; packedBytes: number; offset: number },
): { unpackedBytes: number; packedBytes: number; offset: number; zip64: boolean } {
  const sizes = { ...given, zip64: false };
  for (let at = 0; at + 4 <= extra.length; ) {
    const [id, length] = [extra.readUInt16LE(at), extra.readUInt16LE(at + 2)];
    const field = extra.subarray(at + 4, at + 4 + length);
    let next = 0;
    for (const name of ["unpackedBytes", "packedBytes", "offset"] as const) {
      if (id !== ZIP64_FIELD || given[name] !== UNKNOWN32 || next + 8 > field.length) continue;
      sizes[name] = Number(field.readBigUInt64LE(next));
      sizes.zip64 = true;
      next += 8;
    }
    at += 4 + length;
  }
  return sizes;
}

function u32(content: Blob, position: number): number {
  const bytes = content.bytes(position, 4);
  return bytes.length === 4 ? bytes.readUInt32LE(0) : -1;
}

/** What stands in front of a member of a zip archive. */
export interface LocalHeader {
  flags: number;
  method: number;
  encrypted: boolean;
  /** The sizes stand behind the member as well, or only there. */
  sizesFollow: boolean;
  crc: number;
  /** Where the packed bytes begin. */
  start: number;
  /** Unknown when the sizes follow the member. */
  packedBytes: number | undefined;
  unpackedBytes: number;
  zip64: boolean;
  /** As bytes, one character each; of a long one the beginning. */
  name: string;
  version: number;
}

export const LOCAL_HEADER: Buffer = Buffer.from("PK\x03\x04", "latin1");
const LOCAL_BYTES = 30;

/** Nothing, if no whole header is there. */
export function readLocalHeader(container: Blob, at: number): LocalHeader | undefined {
  const fixed = container.bytes(at, LOCAL_BYTES);
  if (at < 0 || fixed.length < LOCAL_BYTES || !fixed.subarray(0, 4).equals(LOCAL_HEADER)) return undefined;
  const [nameBytes, extraBytes] = [fixed.readUInt16LE(26), fixed.readUInt16LE(28)];
  const name = container.bytes(at + LOCAL_BYTES, Math.min(nameBytes, NAME_BYTES));
  const extra = container.bytes(at + LOCAL_BYTES + nameBytes, extraBytes);
  const flags = fixed.readUInt16LE(6);
  const sizes = zip64Sizes(extra, {
    unpackedBytes: fixed.readUInt32LE(22),
    packedBytes: fixed.readUInt32LE(18),
    offset: 0,
  });
  const sizesFollow = (flags & FLAG.sizesFollow) !== 0;
  const unknown = sizes.packedBytes === 0xffffffff || (sizes.packedBytes === 0 && sizesFollow);
  return {
    flags,
    method: fixed.readUInt16LE(8),
    encrypted: (flags & FLAG.encrypted) !== 0,
    sizesFollow,
    crc: fixed.readUInt32LE(14),
    start: at + LOCAL_BYTES + nameBytes + extraBytes,
    packedBytes: unknown ? undefined : sizes.packedBytes,
    unpackedBytes: sizes.unpackedBytes,
    zip64: sizes.zip64,
    name: name.toString("latin1"),
    version: fixed.readUInt16LE(4),
  };
}

/** Whether it makes sense: the four bytes of the signature alone stand in many programs. */
export function isLikelyHeader(header: LocalHeader | undefined): boolean {
  if (!header || (header.version & 0xff) > HIGHEST_VERSION) return false;
  return (header.method <= OLD_METHODS || header.method >= NEW_METHODS) && header.method < METHODS_END;
}

/** The highest that was ever given out is 63. */
const HIGHEST_VERSION = 100;
const OLD_METHODS = 20;
const NEW_METHODS = 92;
const METHODS_END = 100;
