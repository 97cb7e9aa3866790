import { constants, crc32, inflateRawSync, zstdDecompressSync } from "node:zlib";
import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { byteAt } from "../byte-pattern.ts";
import { inflateFrom } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf, openWithin, placesWithin } from "../signature-search.ts";
import { openBy7z } from "./seven-zip-kinds.ts";

/**
 * Single files, compressed: gzip, zlib, zstd. Several streams may stand one behind the other, and programs give them
 * out as one file or stop after the first: both come out. What is too large for memory is left to 7-Zip.
 */

type Step =
  | { kind: "stream"; name: string; content: Buffer; end: number; exact: boolean }
  /** Something that programs pass over: it is a member of its own. */
  | { kind: "passed"; content: Blob; end: number }
  | { kind: "cut"; content: Buffer }
  | { kind: "too-large" }
  | { kind: "none" };

/** Reads stream after stream. `byTheBook` is for a container that is one stream and nothing else. */
async function openStreams(
  container: Blob,
  tools: Tools,
  format: { way?: string; type?: string; next(at: number): Step },
): Promise<Outcome> {
  const contents: Buffer[] = [];
  const covered: Range[] = [];
  let total = 0;
  let at = 0;
  while (at < container.size) {
    const step = format.next(at);
    if (step.kind === "too-large") return format.type ? openBy7z(container, format.type, tools) : { kind: "too-large" };
    if (step.kind === "cut") {
      emit(tools.sink, { name: "", content: step.content });
      return { kind: "unreadable" };
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
    covered.push({ start: at, end: step.end });
    at = afterZeros(container, step.end, covered);
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
const GZIP_HEADER_BYTES = 10;
const GZIP_TRAILER_BYTES = 8;

export const gzip: Opener = {
  kind: "gzip",
  archive: true,
  knownBy: [byteAt(0, "1f")],
  find: (content) => (isGzip(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) =>
    openStreams(container, tools, { way: "gzip", type: "gzip", next: gzipAt(container, tools) }),
};

/** The same anywhere in another content. */
export const embeddedGzip: Opener = {
  kind: "gzip",
  archive: true,
  find(content) {
    const likely = (at: number): boolean => at > 0 && isLikelyGzip(content.bytes(at, GZIP_HEADER_BYTES));
    return placesWithin(content, "gzip", (at) => (likely(at) ? at : undefined));
  },
  open: openWithin(gzip.open),
};

function isGzip(head: Buffer): boolean {
  return (
    head.length > GZIP_HEADER_BYTES && head[0] === 0x1f && head[1] === 0x8b && head[2] === 8 && (head[3] ?? 255) < 0x20
  );
}

/** Three bytes stand anywhere: the level and the system must be such that somebody writes them. */
function isLikelyGzip(head: Buffer): boolean {
  const [level = 255, system = 99] = [head[8], head[9]];
  return (
    isGzip(Buffer.concat([head, ZEROS.subarray(0, 1)])) && [0, 2, 4].includes(level) && (system <= 13 || system === 255)
  );
}

function gzipAt(container: Blob, { budget }: Tools): (at: number) => Step {
  return (at) => {
    const short = gzipHeader(container.bytes(at, SHORT_BYTES));
    const header = short && short.bytes >= SHORT_BYTES ? gzipHeader(container.bytes(at, GZIP_HEADER_AT_MOST)) : short;
    if (!header) return { kind: "none" };
    const start = at + header.bytes;
    const inflated = inflateFrom(container, start, budget);
    if (inflated.kind === "too-large") return inflated;
    if (inflated.kind === "cut") {
      // Too long for one piece: it is not damaged, only not all there.
      if (container.size - start > budget.limits.memberInMemoryBytes) return { kind: "too-large" };
      return { kind: "cut", content: inflated.content };
    }
    const trailer = container.bytes(start + inflated.taken, GZIP_TRAILER_BYTES);
    return {
      kind: "stream",
      name: header.name,
      content: inflated.content,
      end: start + inflated.taken + trailer.length,
      // With a header whose checksum is wrong zlib gives nothing out, and other programs all of it.
      exact:
        !header.hasChecksum &&
        !looksLikeAnother(container, "gzip") &&
        trailer.length === GZIP_TRAILER_BYTES &&
        trailer.readUInt32LE(0) === crc32(inflated.content),
    };
  };
}

const GZIP_HEADER_AT_MOST = 256 * 1024;
/** As much as is read at first: thousands of short streams may stand one behind the other. */
const SHORT_BYTES = 1024;

function gzipHeader(head: Buffer): { bytes: number; name: string; hasChecksum: boolean } | undefined {
  if (!isGzip(head)) return undefined;
  const flags = head[3] ?? 0;
  let at = GZIP_HEADER_BYTES;
  if (flags & GZIP_FLAG.extra) at += 2 + (at + 2 <= head.length ? head.readUInt16LE(at) : 0);
  const text = (): string => {
    const end = head.indexOf(0, at);
    const found = head.toString("latin1", at, end < 0 ? at : end);
    at = end < 0 ? head.length : end + 1;
    return found;
  };
  const name = flags & GZIP_FLAG.name ? text() : "";
  if (flags & GZIP_FLAG.comment) text();
  if (flags & GZIP_FLAG.headerCrc) at += 2;
  return { bytes: at, name, hasChecksum: (flags & GZIP_FLAG.headerCrc) !== 0 };
}

/** The method, and how large the window is, of eight sizes. */
const ZLIB = byteAt(0, "08", "18", "28", "38", "48", "58", "68", "78");

/** A bare zlib stream, as git, PDF and many formats of their own have it. Two bytes are no proof: it is a try. */
export const zlib: Opener = {
  kind: "zlib",
  archive: true,
  knownBy: [ZLIB],
  find(content) {
    const head = content.bytes(0, 2);
    return content.size > 8 && isZlib(head) ? [{ start: 0, end: content.size, sure: false }] : [];
  },
  open: (container, tools) =>
    openStreams(container, tools, {
      next(at) {
        if (!isZlib(container.bytes(at, 2))) return { kind: "none" };
        const inflated = inflateFrom(container, at + 2, tools.budget);
        if (inflated.kind === "cut") return { kind: "cut", content: inflated.content };
        if (inflated.kind === "too-large") return inflated;
        const end = Math.min(container.size, at + 2 + inflated.taken + ADLER_BYTES);
        return { kind: "stream", name: "", content: inflated.content, end, exact: false };
      },
    }),
};

const ADLER_BYTES = 4;
const NEEDS_DICTIONARY = 0x20;

function isZlib(head: Buffer, dictionary = 0): boolean {
  if (head.length < 2) return false;
  const [method = 0, flags = 0] = head;
  if ((method & 0x0f) !== 8 || method >> 4 > 7) return false;
  return (flags & NEEDS_DICTIONARY) === dictionary && (method * 256 + flags) % 31 === 0;
}

/**
 * One that refers to a dictionary, which whoever packed it keeps elsewhere: nobody can open it. With zeros for a dictionary all
 * that stands in it makes sense, if it is one.
 */
export const zlibWithDictionary: Opener = {
  kind: "zlib-dictionary",
  archive: true,
  knownBy: [ZLIB],
  find(content) {
    if (!isZlib(content.bytes(0, 2), NEEDS_DICTIONARY) || content.size < DICTIONARY_PROOF_BYTES) return [];
    return inflatedWithZeros(content) ? [{ start: 0, end: content.size, sure: true }] : [];
  },
  open(container, { sink }) {
    emit(sink, { name: "", content: inflatedWithZeros(container) ?? Buffer.alloc(0) });
    return { kind: "unreadable" };
  },
};

const DICTIONARY_PROOF_BYTES = 64;
const DICTIONARY_TRIAL_BYTES = 256 * 1024;
const DICTIONARY_AT_MOST = Buffer.alloc(32 * 1024);

function inflatedWithZeros(content: Blob): Buffer | undefined {
  try {
    return inflateRawSync(content.bytes(2 + ADLER_BYTES, DICTIONARY_TRIAL_BYTES), {
      dictionary: DICTIONARY_AT_MOST,
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: DICTIONARY_TRIAL_BYTES * 64,
    });
  } catch {
    return undefined;
  }
}

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
    // The byte behind the magic number says which fields follow; one bit of it is always zero.
    const likely = (at: number): boolean => at > 0 && ((content.bytes(at + 4, 1)[0] ?? 8) & 8) === 0;
    return placesWithin(content, "zstd", (at) => (likely(at) ? at : undefined));
  },
  open: openWithin(zstd.open),
};

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
