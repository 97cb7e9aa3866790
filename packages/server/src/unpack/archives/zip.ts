import { crc32 } from "node:zlib";
import { type Blob, gaps, piecesOf, type Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { isSqlite } from "../documents/sqlite.ts";
import { type Inflated, inflateFrom, inflateRaw, inflateWhole } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, emitStored, type Opener, type Outcome, type Place, type Tools } from "../opener.ts";
import { findAll, headOf, signaturesIn } from "../signature-search.ts";
import { manifestWatch } from "./manifests.ts";
import { openBy7z } from "./seven-zip-kinds.ts";
import { runsToEnd } from "./streams.ts";
import {
  agrees,
  type Directories,
  endsAtBack,
  FLAG,
  isLikelyHeader,
  type Listed,
  LOCAL_HEADER,
  type LocalHeader,
  readDirectories,
  readLocalHeader,
  startOfArchive,
} from "./zip-headers.ts";
import { zipsOf } from "./zip-writer.ts";

/**
 * Zip, and all that is one under another name: jar, docx, apk. Some programs go by the directory at the end, some by the
 * headers in front of the members, and where these disagree each reading comes out; members that no directory lists are found
 * in the gaps. Stored and deflated members are unpacked here, all other methods by 7-Zip. A checksum that fits no reading of a
 * member, and an archive without a directory, are unreadable: some bytes may mean what no reading has shown.
 */
export const zip: Opener = {
  kind: "zip",
  archive: true,
  find(content) {
    const hits = signaturesIn(content);
    const headers = hits.get("zipMember") ?? [];
    const ends = hits.get("zipEnd") ?? [];
    // The search above does not go everywhere: a large program or picture before the archive may hide where it begins.
    const starts = [
      ...ends.flatMap((at) => startOfArchive(content, at, "signed") ?? []),
      ...endsAtBack(content).flatMap((at) => startOfArchive(content, at) ?? []),
    ];
    const listed = starts.length > 0;
    const isMember = (at: number): boolean => at <= SPANNED_MARK_BYTES || isLikelyHeader(readLocalHeader(content, at));
    const member = headers.find(isMember) ?? (listed ? Math.min(...starts, ...headers.slice(0, 1)) : undefined);
    const place = (start: number, sure: boolean): Place[] => [{ start, end: content.size, sure }];
    // Without a directory it is an archive that was cut off, if the content begins with it; else the signature may be anything.
    // In a database pages may stand between its pieces, and what is cut apart is no damage: there it comes out another way.
    const isCutApart = isSqlite(headOf(content));
    if (member !== undefined) return place(member, !isCutApart && (member <= SPANNED_MARK_BYTES || listed));
    return ends.includes(0) ? place(0, true) : [];
  },
  open,
};

/** Archives of several volumes begin with a mark of their own. */
const SPANNED_MARK_BYTES = 4;
const METHOD = { stored: 0, deflated: 8, aes: 99 } as const;
/** As large as the header of a member and its descriptor behind it can be: no room for anything else. */
const DESCRIPTOR_BYTES = 24;
const PIECE_BYTES = 1024 * 1024;
const SIGNING_BLOCK = "APK Sig Block 42";

/** One way to read one member. */
interface Reading {
  method: number;
  /** Where the packed bytes begin. */
  start: number;
  /** Nothing if it has to be found out. */
  packedBytes: number | undefined;
  unpackedBytes: number;
  /** Checksums that are stated of the content; none if it is not known. */
  crcs: readonly number[];
}

/** An end record that lists nothing is all there is. */
function isEmptyArchive({ listed, records }: Directories): boolean {
  return listed.length === 0 && records.length > 0;
}

/** How many packed bytes a reading took, or why there is no content that fits its checksum. */
type Taken = number | "other" | "unreadable" | "inconsistent";

interface Member {
  header: LocalHeader;
  listed: readonly Listed[];
  /** All that was promised about it holds. */
  byTheBook: boolean;
}

async function open(container: Blob, given: Tools, place?: Place): Promise<Outcome> {
  const { budget } = given;
  const manifests = manifestWatch(given.sink);
  const tools: Tools = { ...given, sink: manifests.sink };
  const directories = readDirectories(container, budget, place?.start);
  const members = listedMembers(container, directories.listed, budget);
  let problem: Exclude<Outcome["kind"], "opened"> | undefined = directories.damaged ? "unreadable" : undefined;
  const covered: Range[] = [...directories.records];
  const others: Other[] = [];
  const [firstListed = Number.POSITIVE_INFINITY] = members.keys();
  let isCutOff = false;
  let empty = directories.listed.filter(({ packedBytes }) => packedBytes === 0).length;
  /** In a program or a picture before the archive, or without any directory, a header may be nothing but four bytes of data. */
  const isGuess = (header: LocalHeader): boolean => {
    const { start, packedBytes = 0 } = header;
    const isFollowedByOne = packedBytes > 0 && isRecord(container, start + packedBytes);
    return (!isLikelyHeader(header) || ((place?.start ?? 0) > 0 && start < firstListed)) && !isFollowedByOne;
  };

  /** Where the member ends. */
  function take(member: Member): number {
    budget.check();
    const { header } = member;
    if (member.listed.length === 0 && header.packedBytes === 0) empty += 1;
    const guess = member.listed.length === 0 && isGuess(header);
    let certain = true;
    const doubt = (kind: typeof problem): void => {
      certain = false;
      if (!guess) problem ??= kind;
    };
    if (header.encrypted || member.listed.some(({ flags }) => (flags & FLAG.encrypted) !== 0)) doubt("encrypted");
    let end = 0;
    const readings = readingsOf(container, member);
    if (readings.length > READINGS_AT_MOST) doubt("unreadable");
    const read = (reading: Reading): { reading: Reading; taken: Taken } => {
      return { reading, taken: emitReading(container, { reading, member, tools }) };
    };
    const results = readings.slice(0, READINGS_AT_MOST).map(read);
    if (results.every(({ taken }) => taken === "unreadable" || taken === "inconsistent"))
      results.push(...movedReadings(member, readings[0]).map(read));
    // Where headers disagree one of them is right: the one whose checksum is, and which means the same content.
    const right = results.filter(({ taken }) => typeof taken === "number").map(({ reading }) => reading);
    for (const { reading, taken } of results) {
      const isExcused = right.some((one) => isSameContent(one, reading));
      if (taken === "other") {
        others.push({ flags: header.flags, reading, isExcused: guess || isExcused });
        certain = false;
      } else if (typeof taken !== "number" && !isExcused) doubt("unreadable");
      // A reading that came to nothing says nothing about where the member ends.
      const packedBytes = taken === "other" && !isExcused ? reading.packedBytes : taken;
      if (typeof packedBytes === "number") end = Math.max(end, reading.start + packedBytes);
    }
    if (guess && !certain) isCutOff ||= isCut(container, header, budget);
    // What is none after all is left over.
    return guess && !certain ? 0 : Math.min(end || header.start, container.size);
  }

  // Its members come out, but it was cut off: more of them may have followed.
  if (directories.listed.length === 0 && !isEmptyArchive(directories) && place?.sure !== false)
    problem ??= "unreadable";
  const missing = directories.listed.some(({ position }) => !members.has(position));
  if (missing) problem ??= "unreadable";
  const byTheBook =
    directories.byTheBook &&
    !missing &&
    isTiled(members, directories.records[0]?.start ?? 0) &&
    !looksLikeAnother(container, "zip");
  for (const [position, member] of members) {
    covered.push({ start: position, end: take({ ...member, byTheBook: byTheBook && agrees(member) }) });
  }
  // What no directory lists, or, where there is none, all of it.
  for (const gap of gaps(covered, container.size)) {
    for (const { start, end, cut } of unlisted(container, gap, take, tools)) {
      covered.push({ start, end });
      if (cut && directories.listed.length === 0) covered.push({ start, end: container.size });
    }
  }
  for (const gap of gaps(covered, container.size)) if (isStructure(container, gap)) covered.push(gap);
  for (const [excused, some] of Map.groupBy(others, (other) => other.isExcused)) {
    const outcome = await openOthers(container, some, tools);
    if (!excused) problem ??= outcome;
  }
  if (manifests.isEncrypted()) problem ??= "encrypted";
  // In the middle of other data it takes a whole archive to know that.
  const isCertain = place?.sure !== false || (!missing && !directories.damaged);
  if (problem === "encrypted" && !isCertain) problem = "unreadable";
  const crowded = empty > EMPTY_AT_MOST;
  const isOther = problem === "encrypted" || problem === "too-large";
  if (isCutOff && !isOther && directories.listed.length === 0) return { kind: "unreadable", proven: true, crowded };
  return problem === undefined ? { kind: "opened", covered, crowded } : { kind: problem, crowded };
}

/**
 * Whether a member that was only a guess is one that the end of the content cuts off: its header makes sense, and what is there of a
 * deflated one inflates to the last byte. What is stored hides nothing.
 */
function isCut(container: Blob, header: LocalHeader, budget: Budget): boolean {
  const { method, name, start, packedBytes = Number.POSITIVE_INFINITY } = header;
  if (!isLikelyHeader(header) || !PLAIN_NAME.test(name) || start + packedBytes <= container.size) return false;
  if (method !== METHOD.deflated)
    return method !== METHOD.stored && header.flags < FIRST_ODD_FLAG && header.version > 0;
  const inflated = inflateFrom(container, start, budget);
  return inflated.kind === "cut" && runsToEnd(container, start, inflated);
}

const PLAIN_NAME = /^[^\p{Cc}]+$/u;
/** The flags from here on are unused but in archives that are encrypted as a whole. */
const FIRST_ODD_FLAG = 0x1000;

/** clamd reads the whole archive again for each folder and each empty member: 9,000 of them, in 750 KB, take it 15 seconds. */
const EMPTY_AT_MOST = 4000;

/** Members by position, in order, with all that is said about each. */
function listedMembers(container: Blob, listed: readonly Listed[], budget: Budget): Map<number, Member> {
  const members = new Map<number, Member & { listed: Listed[] }>();
  for (const entry of [...listed].sort((a, b) => a.position - b.position)) {
    const known = members.get(entry.position);
    if (known) {
      known.listed.push(entry);
      continue;
    }
    const header = readLocalHeader(container, entry.position, entry);
    if (!header) continue;
    // Headers may overlap, so that all of them are read for each.
    budget.addWork(header.start - entry.position);
    members.set(entry.position, { header, listed: [entry], byTheBook: false });
  }
  return members;
}

/** Returns what the headers say, without those that say the same but for the checksum. */
function readingsOf(container: Blob, { header, listed }: Member): Reading[] {
  const { start } = header;
  const all: Reading[] = listed.map(({ method, packedBytes, unpackedBytes, crc }) => {
    return { start, method, packedBytes, unpackedBytes, crcs: [crc] };
  });
  const [first] = all;
  const crcs = header.sizesFollow && header.crc === 0 ? (first?.crcs ?? []) : [header.crc];
  if (!first || (header.packedBytes !== undefined && !header.sizesFollow)) all.push({ ...header, crcs });
  else if (all.every(({ method }) => method !== header.method))
    all.push({ ...header, crcs, packedBytes: first.packedBytes });
  else if (header.method === METHOD.stored && header.sizesFollow && !isFollowed(container, first)) {
    // Programs that read from the front go on until there is something that looks like the end.
    all.push({ ...first, packedBytes: undefined, crcs: [] });
  }
  const different = Map.groupBy(all, (one) => {
    const checked = one.method === METHOD.stored || one.method === METHOD.deflated ? "" : one.crcs.join();
    return `${one.method} ${one.packedBytes} ${one.unpackedBytes} ${checked}`;
  });
  return [...different.values()].map(([one, ...same]) => {
    return { ...(one as Reading), crcs: [one as Reading, ...same].flatMap((each) => each.crcs) };
  });
}

/** Whether a descriptor with its size, or another record, stands right behind a member. */
function isFollowed(container: Blob, { start, packedBytes = 0 }: Reading): boolean {
  const end = start + packedBytes;
  const next = container.bytes(end, 12);
  const sizes = next.length === 12 ? [next.readUInt32LE(4), next.readUInt32LE(8)] : [];
  return isRecord(container, end) || sizes[next.indexOf(DESCRIPTOR) === 0 ? 1 : 0] === packedBytes;
}

/** The same with the packed bytes where they begin by the lengths of name and extra field that the directory says, or without any field. */
function movedReadings({ header, listed }: Member, reading: Reading | undefined): Reading[] {
  const fixed = header.start - header.nameBytes - header.extraBytes;
  const starts = new Set<number>();
  for (const nameBytes of [header.nameBytes, ...listed.map((one) => one.nameBytes)]) {
    for (const extraBytes of [0, header.extraBytes, ...listed.map((one) => one.extraBytes)]) {
      starts.add(fixed + nameBytes + extraBytes);
    }
  }
  starts.delete(header.start);
  return reading ? [...starts].slice(0, READINGS_AT_MOST).map((start) => ({ ...reading, start })) : [];
}

function isSameContent(one: Reading, other: Reading): boolean {
  return one.unpackedBytes === other.unpackedBytes && one.crcs.some((crc) => other.crcs.includes(crc));
}

/** Several directories may list one member, each differently. */
const READINGS_AT_MOST = 8;

interface Emission {
  reading: Reading;
  member: Member;
  tools: Tools;
}

/** Gives one reading of a member to the sink. */
function emitReading(container: Blob, emission: Emission): Taken {
  const { method, packedBytes = Number.POSITIVE_INFINITY, unpackedBytes, crcs } = emission.reading;
  if (method === METHOD.stored) return emitAsStored(container, emission);
  if (method === METHOD.deflated) return emitInflated(container, emission);
  // An empty file by any method: programs write what 7-Zip calls damaged.
  const isNothing = unpackedBytes === 0 && crcs.every((crc) => crc === 0) && packedBytes <= DESCRIPTOR_BYTES;
  return isNothing ? packedBytes : "other";
}

function emitAsStored(container: Blob, { reading, member, tools }: Emission): Taken {
  const { sink, budget } = tools;
  const { name } = member.header;
  const { start, unpackedBytes, crcs } = reading;
  const rest = Math.max(0, container.size - start);
  const stated = reading.packedBytes ?? storedBytes(container, start, tools);
  const content = container.slice(start, start + Math.min(rest, stated));
  const way = member.byTheBook && content.size === unpackedBytes ? "zip/stored" : undefined;
  emitStored(sink, { name, content, way });
  const contents = [content];
  // Some programs go by the one size, some by the other.
  if (reading.packedBytes !== undefined && unpackedBytes > 0 && unpackedBytes !== reading.packedBytes) {
    const other = container.slice(start, start + Math.min(rest, unpackedBytes));
    emitStored(sink, { name, content: other });
    contents.push(other);
  }
  // Loaders of malware inflate what every header calls stored, or empty.
  const isEmpty = content.size === 0 && !isRecord(container, start);
  const isTooLarge =
    emitIfDeflated(isEmpty ? container.slice(start, container.size) : content, name, tools) === "too-large";
  if (stated > rest || isTooLarge) return "unreadable";
  const isRight = crcs.length === 0 || contents.some((one) => crcs.includes(checksumOf(one, budget)));
  return isRight ? content.size : "inconsistent";
}

function emitIfDeflated(packed: Blob, name: string, { sink, budget }: Tools): Inflated["kind"] | undefined {
  const inflated = inflateWhole(packed, budget);
  if (inflated?.kind === "whole" && inflated.content.length > 0) emit(sink, { name, content: inflated.content });
  return inflated?.kind;
}

function checksumOf(content: Blob, budget: Budget): number {
  budget.addWork(content.size);
  let crc = 0;
  for (const { bytes } of piecesOf(content, PIECE_BYTES)) crc = crc32(bytes, crc);
  return crc;
}

function emitInflated(container: Blob, { reading, member, tools }: Emission): Taken {
  const { sink, budget } = tools;
  const { name } = member.header;
  const { start, packedBytes, unpackedBytes, crcs } = reading;
  const rest = Math.max(0, container.size - start);
  // Programs that read from the front go on until the stream itself ends; the sizes say how far the others go.
  const window = Math.min(rest, Math.max(packedBytes ?? rest, 0), budget.limits.memberInMemoryBytes);
  const inflated =
    packedBytes === undefined
      ? inflateFrom(container, start, budget)
      : inflateRaw(container.bytes(start, window), budget);
  if (inflated.kind === "too-large") return "other";
  const exact =
    inflated.kind === "whole" && inflated.taken === packedBytes && inflated.content.length === unpackedBytes;
  const way = member.byTheBook && exact ? "zip/deflated" : undefined;
  if (inflated.content.length > 0 || inflated.kind === "whole")
    emit(sink, { name, content: inflated.content, ...(way && { way }) });
  if (inflated.kind === "cut") {
    if (window === budget.limits.memberInMemoryBytes && window < rest) return "other";
    // The bytes as they are: it may be stored.
    if (packedBytes !== undefined) emitStored(sink, { name, content: container.slice(start, start + window) });
    return "unreadable";
  }
  const right = crcs.includes(crc32(inflated.content));
  // Some programs stop at the size that is stated.
  if (right && unpackedBytes < inflated.content.length && unpackedBytes > 0)
    emit(sink, { name, content: inflated.content.subarray(0, unpackedBytes) });
  return right || member.listed.length === 0 ? inflated.taken : "inconsistent";
}

const DESCRIPTOR = Buffer.from("PK\x07\x08", "latin1");
const SIGNATURE = Buffer.from("PK", "latin1");
const NEXT_RECORDS: readonly string[] = ["PK\x01\x02", "PK\x03\x04", "PK\x05\x06"];

/** A stored member whose size follows it ends where a descriptor says just that size, or else where the next header is. */
function storedBytes(container: Blob, start: number, { budget }: Tools): number {
  const content = container.slice(start, container.size);
  for (const at of findAll(content, DESCRIPTOR, budget)) {
    const fields = content.bytes(at + 8, 4);
    if (fields.length === 4 && fields.readUInt32LE(0) === at) return at;
  }
  for (const at of findAll(content, SIGNATURE, budget)) {
    if (isRecord(content, at)) return at;
  }
  return content.size;
}

function isRecord(content: Blob, at: number): boolean {
  return NEXT_RECORDS.includes(content.bytes(at, 4).toString("latin1"));
}

/** Members in a gap, found by their headers. One that cannot be read is none, unless the archive begins with it. */
function* unlisted(
  container: Blob,
  gap: Range,
  take: (member: Member) => number,
  { budget }: Tools,
): Generator<Range & { cut: boolean }> {
  let from = gap.start;
  for (const hit of findAll(container.slice(gap.start, gap.end), LOCAL_HEADER, budget)) {
    const position = gap.start + hit;
    budget.addWork(HEADER_WORK);
    if (position < from) continue;
    const header = readLocalHeader(container, position);
    if (!header || !isPossible(container, header)) {
      if (position + HEADER_BYTES > container.size) yield { start: position, end: container.size, cut: true };
      continue;
    }
    const end = take({ header, listed: [], byTheBook: false });
    from = Math.max(from, end);
    if (end > position) yield { start: position, end, cut: end >= container.size };
  }
}

/** Programs that read from the front do not look at the version. */
function isPossible(container: Blob, header: LocalHeader): boolean {
  const { method, start, packedBytes = Number.POSITIVE_INFINITY } = header;
  if (isLikelyHeader(header) || method === METHOD.deflated) return true;
  return method === METHOD.stored && start + packedBytes <= container.size;
}

const HEADER_BYTES = 30;
/** What the look at a header costs, where it stands every few bytes. */
const HEADER_WORK = 256;

/** Whether members stand one behind the other from the very beginning to the directory. */
function isTiled(members: ReadonlyMap<number, Member>, directoryStart: number): boolean {
  let at = 0;
  for (const [position, { header, listed }] of members) {
    if (position < at || position - at > DESCRIPTOR_BYTES || listed.length !== 1) return false;
    at = header.start + (listed[0]?.packedBytes ?? 0);
  }
  return directoryStart >= at && directoryStart - at <= DESCRIPTOR_BYTES;
}

/** A descriptor behind a member, or the signatures that Android's packages carry in front of the directory. */
function isStructure(container: Blob, gap: Range): boolean {
  const length = gap.end - gap.start;
  if (length <= DESCRIPTOR_BYTES) return true;
  const end = container.bytes(gap.end - SIGNING_BLOCK.length, SIGNING_BLOCK.length);
  return length < SIGNING_BLOCK_BYTES && end.toString("latin1") === SIGNING_BLOCK;
}

const SIGNING_BLOCK_BYTES = 64 * 1024;

/** A reading that is left to 7-Zip. */
interface Other {
  flags: number;
  reading: Reading;
  /** Another reading has given out the same content: that this one is unreadable does not count. */
  isExcused: boolean;
}

/** Opens members by 7-Zip: each as an archive of its own, so that only what the reading says matters. */
async function openOthers(
  container: Blob,
  others: readonly Other[],
  tools: Tools,
): Promise<Exclude<Outcome["kind"], "opened"> | undefined> {
  const readable = others.filter(({ reading }) => reading.packedBytes !== undefined && reading.method !== METHOD.aes);
  let problem: Exclude<Outcome["kind"], "opened"> | undefined;
  if (readable.length < others.length) {
    problem = others.some(({ reading }) => reading.method === METHOD.aes) ? "encrypted" : "unreadable";
  }
  const parts = readable.map(({ flags, reading }) => {
    const packed = container.slice(reading.start, reading.start + (reading.packedBytes ?? 0));
    const { method, unpackedBytes, crcs } = reading;
    return { method, unpackedBytes, packed, flags, crc: crcs[0] ?? 0 };
  });
  for (const archive of zipsOf(parts)) {
    const outcome = await openBy7z(archive, "zip", tools);
    if (outcome.kind !== "opened") problem ??= outcome.kind;
  }
  // The bytes may be packed in another way than is said, or not at all.
  if (problem === "unreadable")
    for (const { packed } of parts) {
      emitStored(tools.sink, { name: "packed", content: packed });
      emitIfDeflated(packed, "packed", tools);
    }
  return problem;
}
