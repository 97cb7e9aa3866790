import { brotliDecompressSync, constants, crc32, zstdDecompressSync } from "node:zlib";
import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { inflateFrom } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, emitStored, type Opener, type Outcome, type Range, type Tools, whole } from "../opener.ts";
import { headOf, openWithin, placesWithin } from "../signature-search.ts";
import { openBy7z } from "./seven-zip-kinds.ts";

/**
 * Single files, compressed: gzip, zlib, zstd, brotli. Several streams may stand one behind the other, and programs give them
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
  find: (content) => (isGzip(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) =>
    openStreams(container, tools, { way: "gzip", type: "gzip", next: gzipAt(container, tools) }),
};

/** The same anywhere in another content. */
export const embeddedGzip: Opener = {
  ...gzip,
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

/** A bare zlib stream, as git, PDF and many formats of their own have it. Two bytes are no proof: it is a try. */
export const zlib: Opener = {
  kind: "zlib",
  archive: true,
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

function isZlib(head: Buffer): boolean {
  if (head.length < 2) return false;
  const [method = 0, flags = 0] = head;
  return (method & 0x0f) === 8 && method >> 4 <= 7 && (flags & 0x20) === 0 && (method * 256 + flags) % 31 === 0;
}

const ZSTD = 0xfd2fb528;
const ZSTD_SKIPPABLE = 0x184d2a50;
/** 128 MiB, what the zstd program itself takes without being asked to; 7-Zip gets those that want more. */
const ZSTD_WINDOW_LOG = 27;

export const zstd: Opener = {
  kind: "zstd",
  archive: true,
  find: (content) => (isZstd(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) => openStreams(container, tools, { type: "zstd", next: zstdAt(container, tools) }),
};

export const embeddedZstd: Opener = {
  ...zstd,
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

function isCut(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "Z_BUF_ERROR";
}

/** Brotli has no magic number: a content that nobody else knows is one if it unpacks to its very last byte. */
export const brotli: Opener = {
  kind: "brotli",
  archive: true,
  find(content) {
    if (content.size < BROTLI_LEAST_BYTES || !looksCompressed(content.bytes(0, NOISE_BYTES))) return [];
    const begun = unbrotli(content.bytes(0, BROTLI_TRIAL_BYTES), BROTLI_TRIAL_OUTPUT_BYTES);
    // A short one is all here: a stream that is cut would not end at its last byte.
    const isNone = begun === "no" || (begun === "cut" && content.size <= BROTLI_TRIAL_BYTES);
    return isNone ? [] : [{ start: 0, end: content.size, sure: false }];
  },
  open(container, { sink, budget }) {
    const { memberInMemoryBytes } = budget.limits;
    const unpacked = unbrotli(container.bytes(0, memberInMemoryBytes), memberInMemoryBytes);
    // A few bytes become any number: what came out in vain counts too.
    const made = typeof unpacked === "object" ? unpacked.content.length : memberInMemoryBytes;
    budget.addWork(unpacked === "no" ? container.size : container.size + made / BROTLI_SHARE);
    if (unpacked === "too-large") return { kind: "too-large" };
    if (typeof unpacked === "string" || unpacked.taken !== container.size) return { kind: "unreadable" };
    emit(sink, { name: "", content: unpacked.content });
    return { kind: "opened", covered: whole(container) };
  },
};

/** Runs of the same come out faster than anybody searches them. */
const BROTLI_SHARE = 4;
const BROTLI_LEAST_BYTES = 16;
const BROTLI_TRIAL_BYTES = 512;
const BROTLI_TRIAL_OUTPUT_BYTES = 64 * 1024;

/** What is compressed looks like noise: nearly all bytes there are, equally often. A trial costs more than this. */
function looksCompressed(head: Buffer): boolean {
  seenBytes.fill(0);
  let different = 0;
  for (const byte of head) {
    if (seenBytes[byte] === 0) different += 1;
    seenBytes[byte] = 1;
  }
  return different >= head.length * NOISE_SHARE;
}

const seenBytes = new Uint8Array(256);

const NOISE_BYTES = 256;
/** Noise has 0.63, text 0.2, programs and tables 0.3. */
const NOISE_SHARE = 0.42;

function unbrotli(
  packed: Buffer,
  maxOutputLength: number,
): { content: Buffer; taken: number } | "too-large" | "cut" | "no" {
  // Nearly all trials fail, and to note where takes longer than the trial.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const answer: unknown = brotliDecompressSync(packed, { maxOutputLength, info: true });
    const { buffer, engine } = answer as { buffer: Buffer; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    if (error instanceof RangeError) return "too-large";
    return isCut(error) ? "cut" : "no";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
