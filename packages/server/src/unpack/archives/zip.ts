import { crc32 } from "node:zlib";
import { type Blob, gaps, type Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { isSqlite } from "../documents/sqlite.ts";
import { inflateFrom, inflateRaw } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, emitStored, type Opener, type Outcome, type Place, type Tools } from "../opener.ts";
import { findAll, headOf, signaturesIn } from "../signature-search.ts";
import { manifestWatch } from "./manifests.ts";
import { openBy7z } from "./seven-zip-kinds.ts";
import {
  agrees,
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
 * in the gaps. Stored and deflated members are unpacked here, all other methods by 7-Zip.
 */
export const zip: Opener = {
  kind: "zip",
  archive: true,
  find(content) {
    const hits = signaturesIn(content);
    const headers = hits.get("zipMember") ?? [];
    const ends = hits.get("zipEnd") ?? [];
    // The search above does not go everywhere: a large program or picture before the archive may hide where it begins.
    const starts = [...ends, ...endsAtBack(content)].flatMap((at) => startOfArchive(content, at) ?? []);
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
const SIGNING_BLOCK = "APK Sig Block 42";

/** One way to read one member. */
interface Reading {
  method: number;
  /** Nothing if it has to be found out. */
  packedBytes: number | undefined;
  unpackedBytes: number;
  crc: number;
}

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
  const directories = readDirectories(container, budget);
  const members = listedMembers(container, directories.listed, budget);
  let problem: Exclude<Outcome["kind"], "opened"> | undefined = directories.damaged ? "unreadable" : undefined;
  const covered: Range[] = [...directories.records];
  const others: { header: LocalHeader; reading: Reading; isExcused: boolean }[] = [];
  const [firstListed = Number.POSITIVE_INFINITY] = members.keys();
  let empty = directories.listed.filter(({ packedBytes }) => packedBytes === 0).length;
  /** In a program or a picture before the archive, or without any directory, a header may be nothing but four bytes of data. */
  const isGuess = ({ start, packedBytes = 0 }: LocalHeader): boolean =>
    (place?.start ?? 0) > 0 && start < firstListed && !(packedBytes > 0 && isRecord(container, start + packedBytes));

  /** Where the member ends. */
  function take(member: Member): number {
    budget.check();
    const { header } = member;
    if (member.listed.length === 0 && header.packedBytes === 0) empty += 1;
    const guess = isGuess(header);
    let certain = true;
    const doubt = (kind: typeof problem): void => {
      certain = false;
      if (!guess) problem ??= kind;
    };
    if (header.encrypted || member.listed.some(({ flags }) => (flags & FLAG.encrypted) !== 0)) doubt("encrypted");
    let end = header.start;
    const readings = readingsOf(member);
    if (readings.length > READINGS_AT_MOST) doubt("unreadable");
    const results = readings.slice(0, READINGS_AT_MOST).map((reading) => {
      return { reading, taken: emitReading(container, header, { reading, member, tools }) };
    });
    // Where headers disagree one of them is right: the one whose checksum is, and which means the same content.
    const right = results.filter(({ reading, taken }) => isRight(container, header, { reading, taken }));
    for (const { reading, taken } of results) {
      const isExcused = right.some((one) => isSameContent(one.reading, reading));
      if (taken === "other") {
        others.push({ header, reading, isExcused: guess || isExcused });
        certain = false;
      } else if (taken === "unreadable" && !isExcused) doubt(taken);
      if (taken !== "inconsistent")
        end = Math.max(end, header.start + (typeof taken === "number" ? taken : (reading.packedBytes ?? 0)));
    }
    if (results.every(({ taken }) => taken === "inconsistent")) doubt("unreadable");
    // What is none after all is left over.
    return guess && !certain ? 0 : Math.min(end, container.size);
  }

  const missing = directories.listed.some(({ position }) => !members.has(position));
  // The first part of several: the rest of its members and the directory are in others.
  if (place?.start === SPANNED_MARK_BYTES && directories.listed.length === 0) problem ??= "unreadable";
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
  return problem === undefined ? { kind: "opened", covered, crowded } : { kind: problem, crowded };
}

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
    const header = readLocalHeader(container, entry.position);
    if (!header) continue;
    // Headers may overlap, so that all of them are read for each.
    budget.addWork(header.start - entry.position);
    members.set(entry.position, { header, listed: [entry], byTheBook: false });
  }
  return members;
}

/** What the headers say, without those that say the same. */
function readingsOf({ header, listed }: Member): Reading[] {
  const all: Reading[] = listed.map(({ method, packedBytes, unpackedBytes, crc }) => {
    return { method, packedBytes, unpackedBytes, crc };
  });
  if (listed.length === 0 || (header.packedBytes !== undefined && !header.sizesFollow)) all.push(header);
  else if (all.every(({ method }) => method !== header.method))
    all.push({ ...header, packedBytes: all[0]?.packedBytes });
  const different = new Map(all.map((one) => [`${one.method} ${one.packedBytes} ${one.unpackedBytes}`, one]));
  return [...different.values()];
}

/** A deflated member that came out is one whose checksum was right. */
function isRight(
  container: Blob,
  header: LocalHeader,
  { reading, taken }: { reading: Reading; taken: ReturnType<typeof emitReading> },
): boolean {
  if (typeof taken !== "number" || reading.method === METHOD.deflated) return typeof taken === "number";
  const isShort = taken === reading.unpackedBytes && taken <= CHECKED_BYTES;
  return isShort && crc32(container.bytes(header.start, taken)) === reading.crc;
}

const CHECKED_BYTES = 1024 * 1024;

function isSameContent(one: Reading, other: Reading): boolean {
  return one.crc === other.crc && one.unpackedBytes === other.unpackedBytes;
}

/** Several directories may list one member, each differently. */
const READINGS_AT_MOST = 8;

/** Gives one reading of a member to the sink, and says how many packed bytes it took, or why it could not be read. */
function emitReading(
  container: Blob,
  header: LocalHeader,
  { reading, member, tools }: { reading: Reading; member: Member; tools: Tools },
): number | "other" | "unreadable" | "inconsistent" {
  const { sink, budget } = tools;
  const name = header.name;
  const rest = container.size - header.start;
  if (reading.method === METHOD.stored) {
    const packedBytes = Math.min(rest, reading.packedBytes ?? storedBytes(container, header, tools));
    const way = member.byTheBook && packedBytes === reading.unpackedBytes ? "zip/stored" : undefined;
    emitStored(sink, { name, content: container.slice(header.start, header.start + packedBytes), way });
    // Some programs go by the one size, some by the other.
    const { unpackedBytes } = reading;
    if (reading.packedBytes !== undefined && unpackedBytes > 0 && unpackedBytes !== reading.packedBytes) {
      const other = container.slice(header.start, header.start + Math.min(rest, unpackedBytes));
      emitStored(sink, { name, content: other });
    }
    return packedBytes;
  }
  if (reading.method !== METHOD.deflated) return "other";
  // Programs that read from the front go on until the stream itself ends; the sizes say how far the others go.
  const window = Math.min(rest, Math.max(reading.packedBytes ?? rest, 0), budget.limits.memberInMemoryBytes);
  const inflated =
    reading.packedBytes === undefined
      ? inflateFrom(container, header.start, budget)
      : inflateRaw(container.bytes(header.start, window), budget);
  if (inflated.kind === "too-large") return "other";
  const exact =
    inflated.kind === "whole" &&
    inflated.taken === reading.packedBytes &&
    inflated.content.length === reading.unpackedBytes;
  const way = member.byTheBook && exact ? "zip/deflated" : undefined;
  if (inflated.content.length > 0 || inflated.kind === "whole")
    emit(sink, { name, content: inflated.content, ...(way && { way }) });
  const cutOff = header.start + window >= container.size;
  if (inflated.kind === "cut" && !(cutOff && member.listed.length === 0 && inflated.taken === window)) {
    return window === budget.limits.memberInMemoryBytes && window < rest ? "other" : "unreadable";
  }
  const right = crc32(inflated.content) === reading.crc;
  // Some programs stop at the size that is stated.
  if (right && reading.unpackedBytes < inflated.content.length && reading.unpackedBytes > 0)
    emit(sink, { name, content: inflated.content.subarray(0, reading.unpackedBytes) });
  return right || member.listed.length === 0 ? inflated.taken : "inconsistent";
}

const DESCRIPTOR = Buffer.from("PK\x07\x08", "latin1");
const SIGNATURE = Buffer.from("PK", "latin1");
const NEXT_RECORDS: readonly string[] = ["PK\x01\x02", "PK\x03\x04", "PK\x05\x06"];

/** A stored member whose size follows it ends where a descriptor says just that size, or else where the next header is. */
function storedBytes(container: Blob, header: LocalHeader, { budget }: Tools): number {
  const content = container.slice(header.start, container.size);
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
    if (!header || !isLikelyHeader(header)) {
      if (position + HEADER_BYTES > container.size) yield { start: position, end: container.size, cut: true };
      continue;
    }
    const end = take({ header, listed: [], byTheBook: false });
    from = Math.max(from, end);
    if (end > position) yield { start: position, end, cut: end >= container.size };
  }
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

/** By 7-Zip: each as an archive of its own, so that only what the reading says matters. */
async function openOthers(
  container: Blob,
  others: readonly { header: LocalHeader; reading: Reading }[],
  tools: Tools,
): Promise<Exclude<Outcome["kind"], "opened"> | undefined> {
  const readable = others.filter(({ reading }) => reading.packedBytes !== undefined && reading.method !== METHOD.aes);
  let problem: Exclude<Outcome["kind"], "opened"> | undefined;
  if (readable.length < others.length) {
    problem = others.some(({ reading }) => reading.method === METHOD.aes) ? "encrypted" : "unreadable";
  }
  const parts = readable.map(({ header, reading }) => {
    return {
      ...reading,
      packed: container.slice(header.start, header.start + (reading.packedBytes ?? 0)),
      flags: header.flags,
    };
  });
  for (const archive of zipsOf(parts)) {
    const outcome = await openBy7z(archive, "zip", tools);
    if (outcome.kind !== "opened") problem ??= outcome.kind;
  }
  return problem;
}
