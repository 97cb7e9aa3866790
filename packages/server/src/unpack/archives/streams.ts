import { constants, crc32, zstdDecompressSync } from "node:zlib";
import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { byteAt } from "../byte-pattern.ts";
import { inflateFrom, inflateStart, mayBeginDeflate, type Readable } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf, openWithin, placesWithin } from "../signature-search.ts";
import { isText } from "../text-stretch.ts";
import { openBy7z } from "./seven-zip-kinds.ts";

/**
 * Single files, compressed: gzip, zlib, zstd. Several streams may stand one behind the other, and programs give them
 * out as one file or stop after the first: both come out. What is too large for memory is left to 7-Zip.
 */

export type Step =
  /** `guessed`: it may be something else as well, so that it is left over all the same. */
  | { kind: "stream"; name: string; content: Buffer; end: number; exact: boolean; guessed?: boolean }
  /** Something that programs pass over: it is a member of its own. */
  | { kind: "passed"; content: Blob; end: number }
  /** `proven`: what came out cannot have come out by chance. */
  | { kind: "cut"; content: Buffer; proven?: boolean }
  | { kind: "too-large" }
  | { kind: "none" };

/** Reads stream after stream. `byTheBook` is for a container that is one stream and nothing else. */
export async function openStreams(
  container: Blob,
  tools: Tools,
  format: { way?: string; type?: string; next(at: number): Step; mayFollow?(at: number): boolean },
): Promise<Outcome> {
  const contents: Buffer[] = [];
  const covered: Range[] = [];
  let [total, at, guessed] = [0, 0, false];
  while (at < container.size) {
    const step = format.next(at);
    if (step.kind === "too-large") return format.type ? openBy7z(container, format.type, tools) : { kind: "too-large" };
    if (step.kind === "cut") {
      emit(tools.sink, { name: "", content: step.content });
      return { kind: "unreadable", proven: step.proven ?? false };
    }
    if (step.kind === "none") break;
    if (step.kind === "passed") {
      emitStored(tools.sink, { name: "skipped", content: step.content });
      covered.push({ start: at, end: step.end });
      at = step.end;
      continue;
    }
    const alone = contents.length === 0 && step.end === container.size;
    emit(tools.sink, {
      name: step.name,
      content: step.content,
      isPart: !alone,
      ...(alone && step.exact && format.way && { way: format.way }),
    });
    contents.push(step.content);
    total += step.content.length;
    if (total > tools.budget.limits.memberInMemoryBytes) {
      return format.type ? openBy7z(container, format.type, tools) : { kind: "too-large" };
    }
    guessed ||= step.guessed ?? false;
    if (!guessed) covered.push({ start: at, end: step.end });
    at = format.mayFollow?.(step.end) ? step.end : afterZeros(container, step.end, guessed ? [] : covered);
  }
  if (contents.length === 0) return { kind: "unreadable" };
  if (contents.length > 1) emit(tools.sink, { name: "", content: Buffer.concat(contents) });
  return { kind: "opened", covered };
}

/** Tapes and disks are filled up with zeros. */
function afterZeros(container: Blob, from: number, covered: Range[]): number {
  let at = from;
  while (at < container.size) {
    const piece = container.bytes(at, at === from ? SHORT_BYTES : ZEROS.length);
    const other = piece.findIndex((byte) => byte !== 0);
    at += other < 0 ? piece.length : other;
    if (other >= 0) break;
  }
  if (at > from) covered.push({ start: from, end: at });
  return at;
}

const ZEROS = Buffer.alloc(64 * 1024);
const PIECE_BYTES = 1024 * 1024;
const GZIP_FLAG = { headerCrc: 2, extra: 4, name: 8, comment: 16 } as const;
const FIRST_RESERVED_FLAG = 0x20;
const GZIP_HEADER_BYTES = 10;
const GZIP_METHOD = 8;
const GZIP_TRAILER_BYTES = 8;

export const gzip: Opener = {
  kind: "gzip",
  archive: true,
  knownBy: [byteAt(0, "1f")],
  find: (content) => (isGzip(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  async open(container, tools) {
    const met = { partNumber: false };
    const read = (reading: Omit<GzipReading, "met">): Promise<Outcome> =>
      openStreams(container, tools, {
        way: "gzip",
        type: "gzip",
        next: gzipAt(container, tools, { ...reading, met }),
        // One without a signature may begin with zeros.
        mayFollow: (at) => gzipHeader(container.bytes(at, GZIP_HEADER_BYTES + 1), { isLater: true }) !== undefined,
      });
    const outcome = await read({ isOld: false, wholeOnly: false });
    if (!met.partNumber) return outcome;
    const isOpened = outcome.kind === "opened";
    const old = await read({ isOld: true, wholeOnly: isOpened });
    return isOpened ? outcome : old;
  },
};

/** The same anywhere in another content. */
export const embeddedGzip: Opener = {
  kind: "gzip",
  archive: true,
  find(content) {
    const likely = (at: number): boolean => at > 0 && isLikelyGzip(content.bytes(at, SHORT_BYTES));
    const needles = ["gzip", "oldGzip"] as const;
    return needles.flatMap((needle) => placesWithin(content, needle, (at) => (likely(at) ? at : undefined)));
  },
  open: openWithin(gzip.open),
};

/** Python, Go and busybox take any flags, also reserved ones; gzip itself and unar take what gzip 0.5 began with. */
function isGzip(head: Buffer): boolean {
  if (head.length <= GZIP_HEADER_BYTES || head[2] !== GZIP_METHOD) return false;
  return head[0] === 0x1f && (head[1] === 0x8b || head[1] === 0x9e);
}

/** Whether all that follows is too short for a header, and one begins so. */
function isBeginning(container: Blob, at: number): boolean {
  const head = container.bytes(at, GZIP_HEADER_BYTES + 1);
  return head.length <= GZIP_HEADER_BYTES && head.length > 1 && head[0] === 0x1f && head[1] === 0x8b;
}

const NOTHING = Buffer.alloc(0);

/** Three bytes stand anywhere: what follows the header must begin like a stream, and go on like one where flags are reserved. */
function isLikelyGzip(head: Buffer): boolean {
  const header = gzipHeader(head);
  if (header === undefined || !mayBeginDeflate(head.subarray(header.bytes))) return false;
  return (head[3] ?? 0) < FIRST_RESERVED_FLAG || header.bytes >= head.length || goesOn(head.subarray(header.bytes));
}

function goesOn(packed: Buffer): boolean {
  const begun = inflateStart(packed, packed.length * MOST_RATIO);
  return typeof begun === "object" && (begun.taken === packed.length || begun.content.length >= PROOF_BYTES);
}

/** Deflate makes no more of a byte than so many. */
const MOST_RATIO = 1032;

interface GzipReading {
  /** Whether a header was met in which a part number may stand instead of a checksum. */
  met: { partNumber: boolean };
  /** As programs before gzip 1.9 and 7-Zip read it: the part number comes first. */
  isOld: boolean;
  /** It is a second reading, and what breaks off in it is none. */
  wholeOnly: boolean;
}

function gzipAt(container: Blob, { budget }: Tools, { met, isOld, wholeOnly }: GzipReading): (at: number) => Step {
  return (at) => {
    const isLater = at > 0;
    const short = gzipHeader(container.bytes(at, SHORT_BYTES), { isOld, isLater });
    const isLong = short !== undefined && short.bytes >= SHORT_BYTES;
    const header = isLong ? gzipHeader(container.bytes(at, GZIP_HEADER_AT_MOST), { isOld, isLater }) : short;
    if (!header) return isBeginning(container, at) ? { kind: "cut", content: NOTHING } : { kind: "none" };
    const guessed = !isGzip(container.bytes(at, GZIP_HEADER_BYTES + 1));
    if (header.hasPartNumber) met.partNumber = true;
    const start = at + header.bytes;
    const inflated = inflateFrom(container, start, budget);
    if (inflated.kind === "too-large") return inflated;
    if (inflated.kind === "cut") {
      if (wholeOnly || (guessed && !runsToEnd(container, start, inflated))) return { kind: "none" };
      // Too long for one piece: it is not damaged, only not all there.
      if (container.size - start > budget.limits.memberInMemoryBytes) return { kind: "too-large" };
      return { kind: "cut", content: inflated.content, proven: runsToEnd(container, start, inflated) };
    }
    const trailer = container.bytes(start + inflated.taken, GZIP_TRAILER_BYTES);
    // Without all of its checksum it was cut off, and with it maybe streams that followed.
    if (trailer.length < GZIP_TRAILER_BYTES) {
      const proven = inflated.taken >= PROOF_BYTES;
      if (wholeOnly || (guessed && !proven)) return { kind: "none" };
      return { kind: "cut", content: inflated.content, proven };
    }
    return {
      kind: "stream",
      name: header.name,
      content: inflated.content,
      end: start + inflated.taken + trailer.length,
      guessed,
      exact:
        header.isPlain && !looksLikeAnother(container, "gzip") && trailer.readUInt32LE(0) === crc32(inflated.content),
    };
  };
}

/**
 * Whether a stream that breaks off does so at the end of the container, behind more bytes than make sense by chance. Where all that came
 * out stands in it as it is, nothing is hidden.
 */
export function runsToEnd(
  container: Blob,
  start: number,
  { content, taken }: { content: Buffer; taken: number },
): boolean {
  const isAtEnd = start + taken === container.size && taken >= PROOF_BYTES;
  return isAtEnd && !isCopied(content.subarray(0, DECODED_SEEN_BYTES), container.bytes(start, PROOF_SEEN_BYTES));
}

/** One in a thousand deflate streams of noise makes sense for so long. */
const PROOF_BYTES = 48;
const PROOF_SEEN_BYTES = 64 * 1024;

const GZIP_HEADER_AT_MOST = 256 * 1024;
/** As much as is read at first: thousands of short streams may stand one behind the other. */
const SHORT_BYTES = 1024;

interface GzipHeader {
  bytes: number;
  name: string;
  /** zlib gives nothing out where the checksum of the header is wrong or a flag is reserved, and other programs all of it. */
  isPlain: boolean;
  hasPartNumber: boolean;
}

/** unar compares nothing but the method of a later member. */
function gzipHeader(head: Buffer, { isOld = false, isLater = false } = {}): GzipHeader | undefined {
  if (!isGzip(head) && !(isLater && head.length > GZIP_HEADER_BYTES && head[2] === GZIP_METHOD)) return undefined;
  const flags = head[3] ?? 0;
  const hasChecksum = (flags & GZIP_FLAG.headerCrc) !== 0;
  let at = GZIP_HEADER_BYTES + (isOld && hasChecksum ? 2 : 0);
  if (flags & GZIP_FLAG.extra) at += 2 + (at + 2 <= head.length ? head.readUInt16LE(at) : 0);
  const text = (): string => {
    const end = head.indexOf(0, at);
    const found = head.toString("latin1", at, end < 0 ? at : end);
    at = end < 0 ? head.length : end + 1;
    return found;
  };
  const name = flags & GZIP_FLAG.name ? text() : "";
  if (flags & GZIP_FLAG.comment) text();
  if (hasChecksum && !isOld) at += 2;
  const isPlain = !hasChecksum && flags < FIRST_RESERVED_FLAG && head[1] === 0x8b;
  return { bytes: at, name, isPlain, hasPartNumber: hasChecksum && (flags & GZIP_FLAG.extra) !== 0 };
}

/** The method, and how large the window is, of eight sizes. */
const ZLIB = byteAt(0, "08", "18", "28", "38", "48", "58", "68", "78");

/** A bare zlib stream, as git, PDF and many formats of their own have it. Two bytes are no proof, what comes out for long is. */
export const zlib: Opener = {
  kind: "zlib",
  archive: true,
  knownBy: [ZLIB],
  find(content) {
    if (content.size <= 8 || !isZlib(content.bytes(0, 2))) return [];
    return [{ start: 0, end: content.size, sure: isLongDeflate(content.bytes(2, ZLIB_TRIAL_BYTES)) }];
  },
  open: (container, tools) =>
    openStreams(container, tools, {
      next(at) {
        if (!isZlib(container.bytes(at, 2))) return { kind: "none" };
        const inflated = inflateFrom(container, at + 2, tools.budget);
        if (inflated.kind === "cut") return { kind: "cut", content: inflated.content };
        if (inflated.kind === "too-large") return inflated;
        const end = at + 2 + inflated.taken + ADLER_BYTES;
        if (end > container.size) return { kind: "cut", content: inflated.content };
        return { kind: "stream", name: "", content: inflated.content, end, exact: false };
      },
    }),
};

const ADLER_BYTES = 4;
const ZLIB_TRIAL_BYTES = 1024;

/** Whether it is a stream that goes on behind these bytes. */
function isLongDeflate(packed: Buffer): boolean {
  if (!mayBeginDeflate(packed)) return false;
  const begun = inflateStart(packed, ZLIB_TRIAL_BYTES * 64);
  return typeof begun === "object" && begun.taken === packed.length && isDecoded(begun.content, packed);
}
const NEEDS_DICTIONARY = 0x20;

function isZlib(head: Buffer, dictionary = 0): boolean {
  if (head.length < 2) return false;
  const [method = 0, flags = 0] = head;
  if ((method & 0x0f) !== 8 || method >> 4 > 7) return false;
  return (flags & NEEDS_DICTIONARY) === dictionary && (method * 256 + flags) % 31 === 0;
}

/**
 * One that refers to a dictionary, which whoever packed it keeps elsewhere: nobody can open it. With zeros for a dictionary all
 * that stands in it makes sense, if it is one, and its checksum is the end of the content; only a long one may go on, or have something behind it.
 */
export const zlibWithDictionary: Opener = {
  kind: "zlib-dictionary",
  archive: true,
  knownBy: [ZLIB],
  find(content) {
    if (!isZlib(content.bytes(0, 2), NEEDS_DICTIONARY) || content.size < DICTIONARY_PROOF_BYTES) return [];
    const begun = inflatedWithZeros(content);
    if (begun === undefined) return [];
    const left = content.size - DICTIONARY_HEADER_BYTES - begun.taken;
    const isEnd = left === ADLER_BYTES || (left === 0 && endsInFlush(content));
    const isOne = (isEnd || begun.taken >= DICTIONARY_LONG_BYTES) && !isText(content.bytes(0, DICTIONARY_LONG_BYTES));
    return isOne ? [{ start: 0, end: content.size, sure: true }] : [];
  },
  open(container, { sink }) {
    emit(sink, { name: "", content: inflatedWithZeros(container)?.content ?? Buffer.alloc(0) });
    return { kind: "unreadable" };
  },
};

const DICTIONARY_HEADER_BYTES = 2 + ADLER_BYTES;
const DICTIONARY_PROOF_BYTES = 64;
const DICTIONARY_LONG_BYTES = 1024;
const DICTIONARY_TRIAL_BYTES = 256 * 1024;
const DICTIONARY_AT_MOST = Buffer.alloc(32 * 1024);

function inflatedWithZeros(content: Blob): Readable | undefined {
  const packed = content.bytes(DICTIONARY_HEADER_BYTES, DICTIONARY_TRIAL_BYTES);
  const begun = mayBeginDeflate(packed) && inflateStart(packed, DICTIONARY_TRIAL_BYTES * 64, DICTIONARY_AT_MOST);
  return typeof begun === "object" ? begun : undefined;
}

/** As in streams of messages, which never end: an empty block behind each. */
function endsInFlush(content: Blob): boolean {
  return content.bytes(content.size - 4, 4).readUInt32BE(0) === 0x0000ffff;
}

/**
 * Whether bytes were decoded from others, and not only copied: noise may begin like a stored block, or like one of few values
 * over and over.
 */
function isDecoded(decoded: Buffer, packed: Buffer): boolean {
  const content = decoded.subarray(0, DECODED_SEEN_BYTES);
  return new Set(content).size >= VALUES_LEAST && !isCopied(content, packed);
}

/** Whether some of it stands in the bytes that it came out of. */
export function isCopied(content: Buffer, packed: Buffer): boolean {
  return [0, 0.25, 0.5, 0.75, 1].some((share) => {
    const at = Math.floor((content.length - COPIED_BYTES) * share);
    return at < 0 || packed.includes(content.subarray(at, at + COPIED_BYTES));
  });
}

const DECODED_SEEN_BYTES = 64 * 1024;
const VALUES_LEAST = 24;
const COPIED_BYTES = 8;

const ZSTD = 0xfd2fb528;
const ZSTD_SKIPPABLE = 0x184d2a50;
/** 128 MiB, what the zstd program itself takes without being asked to; 7-Zip gets those that want more. */
const ZSTD_WINDOW_LOG = 27;

export const zstd: Opener = {
  kind: "zstd",
  archive: true,
  knownBy: [byteAt(0, "28", "50-5f")],
  find: (content) => (isZstd(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) => openStreams(container, tools, { type: "zstd", next: zstdAt(container, tools) }),
};

export const embeddedZstd: Opener = {
  kind: "zstd",
  archive: true,
  find(content) {
    const likely = (at: number): boolean => at > 0 && firstBlock(content.bytes(at, ZSTD_HEADER_AT_MOST)) !== undefined;
    return placesWithin(content, "zstd", (at) => (likely(at) ? at : undefined));
  },
  open: openWithin(async (container, tools) => {
    const outcome = await zstd.open(container, tools);
    // Numbers that nobody meant ask for more memory than there is.
    return outcome.kind === "too-large" && !hasAllBlocks(container) ? { kind: "unreadable" } : outcome;
  }),
};

const ZSTD_HEADER_AT_MOST = 4 + 14 + 3;
const ZSTD_BLOCK_AT_MOST = 128 * 1024;

/** Where the first block of a frame begins; nothing if a field that is reserved or too large says that it is none. */
function firstBlock(head: Buffer): number | undefined {
  const descriptor = head[4] ?? 8;
  if ((descriptor & 8) !== 0) return undefined;
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const start = 5 + (isSingle ? 0 : 1) + ([0, 1, 2, 4][descriptor & 3] ?? 0) + sizeBytes;
  return head.length < start + 3 || zstdBlock(head.readUIntLE(start, 3)) !== undefined ? start : undefined;
}

function zstdBlock(header: number): { isLast: boolean; bytes: number } | undefined {
  const [type, size] = [(header >> 1) & 3, header >> 3];
  if (type === 3 || size > ZSTD_BLOCK_AT_MOST) return undefined;
  return { isLast: (header & 1) === 1, bytes: type === 1 ? 1 : size };
}

/** Whether the blocks of a frame lead to its last one. */
function hasAllBlocks(frame: Blob): boolean {
  let at = firstBlock(frame.bytes(0, ZSTD_HEADER_AT_MOST));
  while (at !== undefined && at + 3 <= frame.size) {
    const block = zstdBlock(frame.bytes(at, 3).readUIntLE(0, 3));
    if (!block) return false;
    at += 3 + block.bytes;
    if (block.isLast) return at <= frame.size;
  }
  return false;
}

function isZstd(head: Buffer): boolean {
  if (head.length < 8) return false;
  const magic = head.readUInt32LE(0);
  return magic === ZSTD || ((magic & 0xfffffff0) >>> 0 === ZSTD_SKIPPABLE && isSkipped(head));
}

/** A skippable frame is recognised only in front of another frame. */
function isSkipped(head: Buffer): boolean {
  const next = 8 + head.readUInt32LE(4);
  if (next + 4 > head.length) return next < head.length || next >= HEAD_TO_SEE;
  const magic = head.readUInt32LE(next);
  return magic === ZSTD || (magic & 0xfffffff0) >>> 0 === ZSTD_SKIPPABLE;
}

const HEAD_TO_SEE = 64 * 1024;

function zstdAt(container: Blob, { budget }: Tools): (at: number) => Step {
  return (at) => {
    const head = container.bytes(at, 8);
    if (head.length < 8) return { kind: "none" };
    const magic = head.readUInt32LE(0);
    if ((magic & 0xfffffff0) >>> 0 === ZSTD_SKIPPABLE) {
      const end = Math.min(container.size, at + 8 + head.readUInt32LE(4));
      return { kind: "passed", content: container.slice(at + 8, end), end };
    }
    if (magic !== ZSTD) return { kind: "none" };
    const frame = firstFrame(container.slice(at, container.size), budget);
    // Damaged, or larger than we hold in memory: 7-Zip knows, and gives what it can.
    if (!frame) return { kind: "too-large" };
    // Nothing taken would be nothing gained, for ever.
    if (frame.taken <= 0) return { kind: "none" };
    return { kind: "stream", name: "", content: frame.content, end: at + frame.taken, exact: false };
  };
}

/** Reads no more than it takes: what begins like a frame may stand in a large file hundreds of times. */
function firstFrame(packed: Blob, budget: Budget): { content: Buffer; taken: number } | undefined {
  const { memberInMemoryBytes } = budget.limits;
  const params = { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG };
  for (const window of [SHORT_BYTES, SHORT_BYTES * 64, PIECE_BYTES, memberInMemoryBytes]) {
    try {
      const options = { params, maxOutputLength: memberInMemoryBytes, info: true };
      const answer: unknown = zstdDecompressSync(packed.bytes(0, window), options);
      const { buffer, engine } = answer as { buffer: Buffer; engine: { bytesWritten: number } };
      budget.addWork(engine.bytesWritten);
      return { content: buffer, taken: engine.bytesWritten };
    } catch (error) {
      budget.addWork(Math.min(window, packed.size));
      if (!isCut(error) || window >= packed.size) return undefined;
    }
  }
  return undefined;
}

export function isCut(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
}
