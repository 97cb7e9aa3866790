import type { Blob, Range } from "../blob.ts";
import { type Budget, LimitExceeded } from "../budget.ts";
import { findAll } from "../signature-search.ts";
import { isUnsignedDirectory, leadsToMember } from "./zip-unsigned.ts";

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
  /** Lengths of the name and the extra field here; some programs find the packed bytes by these. */
  nameBytes: number;
  extraBytes: number;
}

/** As much of a name as is kept. The headers of many members may share one name, which then is there once for each. */
const NAME_BYTES = 512;

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
const DIRECTORY_ENTRY = Buffer.from("PK\x01\x02", "latin1");
const LOCAL = 0x04034b50;
const ENTRY_BYTES = 46;
const LOCATOR64 = 0x07064b50;
const LOCATOR64_BYTES = 20;
const END64 = 0x06064b50;
const END64_BYTES = 56;
const UNKNOWN32 = 0xffffffff;
const UNKNOWN16 = 0xffff;
const ZIP64_FIELD = 1;

/**
 * Reads all directories of a container. Programs disagree about which end record counts, the first, the last, or the last one that
 * makes sense, whether zip64 counts, and from where offsets count: all readings are taken, except for an end record inside a member,
 * which is found again when that member is opened. `origin`: where the container begins in the content that it is a part of.
 */
export function readDirectories(container: Blob, budget: Budget, origin = 0): Directories {
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
    const stated = statedDirectories(container, record, position);
    const starts = Map.groupBy(
      stated.flatMap((one) =>
        startsOf(container, one, { position, origin, budget }).map((start) => ({ ...one, start })),
      ),
      ({ start }) => start,
    );
    // The end record of an empty archive: only at the front of something is it one, not anywhere in other data.
    const isEmpty = position === 0 && stated.every(({ size, entries }) => size === 0 && entries === 0);
    if (starts.size === 0 && isEmpty) found.records.push({ start: position, end: position + END_BYTES });
    for (const [start, directories] of starts) {
      ends += 1;
      const first = directories[0] as Stated;
      const base = start - first.offset;
      const isSigned = u32(container, start) === ENTRY;
      // Some programs go by the entries alone, whatever their number is said to be: then all up to the end are read.
      const number = Math.max(...directories.map(({ entries }) => entries)) || Number.POSITIVE_INFINITY;
      const unsigned = isSigned ? 0 : number;
      const read = readEntries(container, { start, end: first.end, base, budget, unsigned });
      for (const entry of read.listed) found.listed.push(entry);
      if (base !== -origin) {
        for (const entry of read.listed) {
          const position = entry.position - base - origin;
          if (u32(container, position) === LOCAL) found.listed.push({ ...entry, position });
        }
      }
      if (found.listed.length > budget.limits.members * DIRECTORIES_AT_MOST) throw new LimitExceeded("members");
      // The comment is left over: anything may stand in it, and programs that look for the last end record find it there.
      found.records.push({ start, end: read.end }, { start: first.end, end: position + END_BYTES });
      plain = stated.length === 1 && start === first.offset && read.end === position && end === container.size;
      plain &&= isSigned && read.listed.length === first.entries;
      if (directories.some(({ entries }) => read.listed.length < entries)) found.damaged = true;
    }
  }
  const hasLost = ends > 0 && takeLost(container, found, { origin, budget });
  // One that leads nowhere is still what some programs, clamd for one, go by.
  return { ...found, byTheBook: ends === 1 && strays === 1 && plain && !hasLost };
}

/**
 * Adds the entries of directories that no end record leads to: programs find them where an end record is damaged, or count on another
 * place. Only those count that lead to a member.
 */
function takeLost(
  container: Blob,
  { listed, records }: Directories,
  { origin, budget }: { origin: number; budget: Budget },
): boolean {
  const known = [...records, ...listed.map((one) => ({ start: one.position, end: endOfMember(one) }))];
  known.sort((one, other) => one.start - other.start);
  let [index, covered, hasLost] = [0, 0, false];
  for (const at of findAll(container, DIRECTORY_ENTRY, budget)) {
    for (let next = known[index]; next && next.start <= at; next = known[index]) {
      covered = Math.max(covered, next.end);
      index += 1;
    }
    if (at < covered) continue;
    const end = Math.min(container.size, at + LOST_BYTES);
    const read = readEntries(container, { start: at, end, base: 0, budget });
    covered = Math.max(covered, read.end);
    const found = read.listed.flatMap((entry) =>
      [...new Set([entry.position, entry.position - origin])].flatMap((position) =>
        u32(container, position) === LOCAL ? { ...entry, position } : [],
      ),
    );
    if (found.length === 0) continue;
    for (const entry of found) listed.push(entry);
    if (listed.length > budget.limits.members * DIRECTORIES_AT_MOST) throw new LimitExceeded("members");
    records.push({ start: at, end: read.end });
    hasLost = true;
  }
  return hasLost;
}

/** A longer directory is read in pieces. */
const LOST_BYTES = 1024 * 1024;
const endOfMember = ({ position, packedBytes }: Listed): number => position + ENTRY_BYTES + packedBytes;

/** An archive in the comment of another, a few behind one another; more than this is made to keep us busy. */
const ENDS_AT_MOST = 10_000;
/** So many directories may list as many members as there may be: end records that share one would fill the memory with it. */
const DIRECTORIES_AT_MOST = 2;

/** `listed` is in the order in which directories were read, nearly always that of their positions. */
function isInMember(listed: readonly Listed[], position: number): boolean {
  return listed.some((one) => position > one.position && position < endOfMember(one));
}

/** Where the archive begins that an end record speaks of; nothing if there is no directory. `signed`: one with its signature. */
export function startOfArchive(container: Blob, position: number, signed?: "signed"): number | undefined {
  const record = container.bytes(position, END_BYTES);
  for (const stated of record.length === END_BYTES ? statedDirectories(container, record, position) : []) {
    const [directory] = startsOf(container, stated, { position, signed });
    if (directory !== undefined) return Math.max(0, directory - stated.offset);
  }
  return undefined;
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

/** Where a directory begins: some programs count its size back from its end, others go by its offset. */
function startsOf(container: Blob, stated: Stated, { position, origin = 0, signed, budget }: StartOptions): number[] {
  const { end, size, offset } = stated;
  const isDirectory = (at: number): boolean => {
    if (u32(container, at) === ENTRY || signed) return u32(container, at) === ENTRY;
    budget?.addWork(UNSIGNED_WORK);
    return isUnsignedDirectory(container, at, { stated, end: position });
  };
  return [...new Set([end - size, offset, offset - origin])].filter(
    (at) => at >= 0 && at < position && isDirectory(at),
  );
}

interface StartOptions {
  position: number;
  origin?: number;
  signed?: "signed" | undefined;
  budget?: Budget;
}

/** Limits what the look at entries without a signature costs, which decodes some bytes of a member. */
const UNSIGNED_WORK = 2048;

interface Stated {
  size: number;
  /** As counted from where the archive begins, in the opinion of who wrote it. */
  offset: number;
  /** Where the directory should end. */
  end: number;
  entries: number;
}

/** The directory of an end record, and that of zip64: some programs prefer this one wherever there is one. */
function statedDirectories(container: Blob, record: Buffer, position: number): Stated[] {
  const [entries, size, offset] = [record.readUInt16LE(10), record.readUInt32LE(12), record.readUInt32LE(16)];
  const ofZip64 = statedByZip64(container, position);
  // More than can be said here is said by zip64, if that is there.
  const most = ofZip64.length > 0 ? 0 : UNKNOWN16 - 1;
  return [{ size, offset, end: position, entries: entries === UNKNOWN16 ? most : entries }, ...ofZip64];
}

function statedByZip64(container: Blob, position: number): Stated[] {
  if (position < LOCATOR64_BYTES + END64_BYTES) return [];
  const locator = container.bytes(position - LOCATOR64_BYTES, LOCATOR64_BYTES);
  if (locator.readUInt32LE(0) !== LOCATOR64) return [];
  const places = new Set([position - LOCATOR64_BYTES - END64_BYTES, Number(locator.readBigUInt64LE(8))]);
  return [...places].flatMap((at) => {
    if (at < 0 || at + END64_BYTES > container.size || u32(container, at) !== END64) return [];
    const end64 = container.bytes(at, END64_BYTES);
    return {
      size: Number(end64.readBigUInt64LE(40)),
      offset: Number(end64.readBigUInt64LE(48)),
      end: at,
      entries: Number(end64.readBigUInt64LE(32)),
    };
  });
}

interface EntriesToRead {
  start: number;
  end: number;
  base: number;
  budget: Budget;
  /** So many are read whatever their signatures. */
  unsigned?: number;
}

function readEntries(
  container: Blob,
  { start, end, base, budget, unsigned = 0 }: EntriesToRead,
): { listed: Listed[]; end: number } {
  const listed: Listed[] = [];
  const bytes = container.bytes(start, Math.min(end - start, DIRECTORY_BYTES_READ));
  budget.addWork(bytes.length);
  let at = 0;
  while (at + ENTRY_BYTES <= bytes.length && (bytes.readUInt32LE(at) === ENTRY || listed.length < unsigned)) {
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
      nameBytes: nameBytes ?? 0,
      extraBytes: extraBytes ?? 0,
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
  nameBytes: number;
  extraBytes: number;
  version: number;
  /** Programs that go by the directory do not compare the signature. */
  signed: boolean;
}

export const LOCAL_HEADER: Buffer = Buffer.from("PK\x03\x04", "latin1");
const LOCAL_BYTES = 30;

/** Nothing, if no whole header is there. One that an entry leads to need not have a signature. */
export function readLocalHeader(container: Blob, at: number, entry?: Listed): LocalHeader | undefined {
  const fixed = container.bytes(at, LOCAL_BYTES);
  if (at < 0 || fixed.length < LOCAL_BYTES) return undefined;
  const signed = fixed.subarray(0, 4).equals(LOCAL_HEADER);
  if (!signed && !(entry && leadsToMember(container, at, entry))) return undefined;
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
    nameBytes,
    extraBytes,
    version: fixed.readUInt16LE(4),
    signed,
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

/** How well it is packed, that the sizes follow, that the name is UTF-8; and the version that all this takes. */
const PLAIN_FLAGS = 0x080e;
const PLAIN_VERSION = 20;

/** Whether both headers of a member say the same, and nothing out of the ordinary. */
export function agrees({ header, listed }: { header: LocalHeader; listed: readonly Listed[] }): boolean {
  const [entry] = listed;
  if (!entry || entry.method !== header.method || entry.name !== header.name || header.zip64) return false;
  if (header.name.length >= NAME_BYTES || !header.signed) return false;
  if (entry.flags !== header.flags || (header.flags & ~PLAIN_FLAGS) !== 0 || header.version > PLAIN_VERSION)
    return false;
  if (header.sizesFollow) return header.crc === 0 || header.crc === entry.crc;
  return entry.packedBytes === header.packedBytes && entry.unpackedBytes === header.unpackedBytes;
}
