import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { inflateFrom } from "../inflate.ts";
import { emit, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { unbrotliCounted } from "./brotli.ts";

/** Formats of which parts are compressed, each by itself: fonts for the web, pictures with text, files of a disc. */
const ZLIB_HEADER = 2;
const ADLER_BYTES = 4;

/** A stream of zlib; nothing if it is none or breaks off. `taken` is all of it with header and checksum. */
export function unzlib(
  container: Blob,
  start: number,
  budget: Budget,
): { content: Buffer; taken: number } | "too-large" | undefined {
  const inflated = inflateFrom(container, start + ZLIB_HEADER, budget);
  if (inflated.kind === "too-large") return inflated.kind;
  if (inflated.kind !== "whole") return undefined;
  return { content: inflated.content, taken: ZLIB_HEADER + inflated.taken + ADLER_BYTES };
}

export const woff: Opener = {
  kind: "woff",
  archive: true,
  knownBy: [byteAt(0, "'w'")],
  find: (content) => (isWoff(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const header = container.bytes(0, WOFF_HEADER);
    const tables = container.bytes(WOFF_HEADER, header.readUInt16BE(12) * WOFF_ENTRY);
    const covered: Range[] = [{ start: 0, end: WOFF_HEADER + tables.length }];
    const [metaStart, metaPacked, metaBytes] = [24, 28, 32].map((at) => header.readUInt32BE(at));
    const parts = [{ name: "metadata", start: metaStart ?? 0, packed: metaPacked ?? 0, bytes: metaBytes ?? 0 }];
    for (let at = 0; at + WOFF_ENTRY <= tables.length; at += WOFF_ENTRY) {
      const [start = 0, packed = 0, bytes = 0] = [4, 8, 12].map((field) => tables.readUInt32BE(at + field));
      parts.push({ name: tables.toString("latin1", at, at + 4), start, packed, bytes });
    }
    let problem: Outcome | undefined;
    for (const { name, start, packed, bytes } of parts) {
      if (packed === 0) continue;
      const part = container.slice(start, start + packed);
      const unpacked = packed < bytes ? unzlib(part, 0, tools.budget) : { content: part.bytes(0, packed) };
      if (unpacked === "too-large") return { kind: unpacked };
      const content = unpacked?.content;
      if (content) emit(tools.sink, { name, content });
      if (!content || part.size < packed) problem = { kind: "unreadable" };
      covered.push({ start, end: start + packed });
    }
    return problem ?? { kind: "opened", covered };
  },
};

const isWoff = bytePattern("'wOFF' ..*40");
const WOFF_HEADER = 44;
const WOFF_ENTRY = 20;

/** All tables in one stream of brotli, behind a list of how long each is. */
export const woff2: Opener = {
  kind: "woff2",
  archive: true,
  knownBy: [byteAt(0, "'w'")],
  find: (content) => (isWoff2(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, { sink, budget }) {
    const header = container.bytes(0, WOFF2_HEADER);
    const packed = header.readUInt32BE(20);
    const start = afterWoff2Tables(container.bytes(0, WOFF2_TABLES_BYTES), header.readUInt16BE(12));
    if (start === undefined || start + packed > container.size) return { kind: "unreadable" };
    const covered: Range[] = [{ start: 0, end: start + packed }];
    const [metaStart = 0, metaPacked = 0] = [28, 32].map((at) => header.readUInt32BE(at));
    const parts = [{ start, packed }, ...(metaPacked > 0 ? [{ start: metaStart, packed: metaPacked }] : [])];
    for (const part of parts) {
      const unpacked = unbrotliCounted(container.bytes(part.start, part.packed), budget);
      if (unpacked === "too-large") return { kind: "too-large" };
      if (typeof unpacked === "string") return { kind: "unreadable" };
      emit(sink, { name: "tables", content: unpacked.content });
      covered.push({ start: part.start, end: part.start + part.packed });
    }
    return { kind: "opened", covered };
  },
};

const isWoff2 = bytePattern("'wOF2' ..*44");
const WOFF2_HEADER = 48;
const WOFF2_TABLES_BYTES = 1024 * 1024;
/** Those tables whose tag is not one of the known ones say it. */
const OTHER_TAG = 63;
/** Outlines of glyphs and where they are: these are written in another form unless they say that they are not. */
const [GLYF, LOCA] = [10, 11];

/** Where the list ends. A table has a second length if its form was changed. */
function afterWoff2Tables(bytes: Buffer, count: number): number | undefined {
  let at = WOFF2_HEADER;
  const skipNumber = (): void => {
    while ((bytes[at] ?? 0) >= 0x80) at += 1;
    at += 1;
  };
  for (let table = 0; table < count && at < bytes.length; table += 1) {
    const flags = bytes[at] ?? 0;
    const [tag, version] = [flags & 63, flags >> 6];
    at += tag === OTHER_TAG ? 5 : 1;
    skipNumber();
    const isChanged = tag === GLYF || tag === LOCA ? version === 0 : version !== 0;
    if (isChanged) skipNumber();
  }
  if (bytes.toString("latin1", 4, 8) === "ttcf") at = afterCollection(bytes, at);
  return at < bytes.length ? at : undefined;
}

/** A collection says which of the tables each of its fonts has. */
function afterCollection(bytes: Buffer, start: number): number {
  let at = start + 4;
  const nextNumber = (): number => {
    const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3);
    at += first === 253 ? 3 : first > 253 ? 2 : 1;
    return first === 253 ? second * 256 + third : first > 253 ? second + 253 * (256 - first) : first;
  };
  for (let fonts = nextNumber(); fonts > 0 && at < bytes.length; fonts -= 1) {
    const tables = nextNumber();
    at += 4;
    for (let table = 0; table < tables && at < bytes.length; table += 1) nextNumber();
  }
  return at;
}

/** Text and colour profiles in a picture (PNG) may be compressed. The picture itself is none of our business. */
export const png: Opener = {
  kind: "png",
  knownBy: [byteAt(0, "89")],
  find: (content) => (packedChunks(content).length > 0 ? [{ start: 0, end: content.size, sure: false }] : []),
  open(container, tools) {
    let isCut = false;
    for (const { type, start, end } of packedChunks(container)) {
      const chunk = container.bytes(start, Math.min(end - start, CHUNK_BYTES));
      // A keyword, a zero, the method; in the newer kind also whether it is compressed at all, a language and a translation.
      let at = chunk.indexOf(0) + 2;
      if (type === "iTXt") {
        if (chunk[at - 1] !== 1) continue;
        at = chunk.indexOf(0, chunk.indexOf(0, at + 1) + 1) + 1;
      }
      const inflated = inflateFrom(container.slice(start, end), at + ZLIB_HEADER, tools.budget);
      if (inflated.kind === "too-large") return inflated;
      emit(tools.sink, { name: type, content: inflated.content });
      isCut ||= end > container.size;
    }
    if (isCut) return { kind: "unreadable", proven: true };
    // Nothing is taken from the picture that others would not look at as well.
    return { kind: "opened", covered: [] };
  },
};

const isPng = bytePattern("89 'PNG' 0d 0a 1a 0a");
const PACKED_CHUNKS = ["zTXt", "iTXt", "iCCP"];
const CHUNKS_AT_MOST = 100_000;
const CHUNK_BYTES = 64 * 1024;

function packedChunks(content: Blob): (Range & { type: string })[] {
  if (!isPng(headOf(content))) return [];
  const found: (Range & { type: string })[] = [];
  for (let at = 8, count = 0; at + 12 <= content.size && count < CHUNKS_AT_MOST; count += 1) {
    const head = content.bytes(at, 8);
    const type = head.toString("latin1", 4);
    const [start, end] = [at + 8, at + 8 + head.readUInt32BE(0)];
    if (PACKED_CHUNKS.includes(type)) found.push({ type, start, end });
    at = end + 4;
  }
  return found;
}

/** A file of a disc that is compressed by itself: where its blocks are, then each as a stream, nothing for one of zeros. */
export const zisofs: Opener = {
  kind: "zisofs",
  archive: true,
  knownBy: [byteAt(0, "37")],
  find: (content) => (isZisofs(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const header = container.bytes(0, ZISOFS_HEADER);
    const [size, start, log] = [header.readUInt32LE(8), header.readUInt8(12) * 4, header.readUInt8(13)];
    if (start < ZISOFS_HEADER || log < 9 || log > 24) return { kind: "unreadable" };
    const pointers = container.bytes(start, 4 * (Math.ceil(size / 2 ** log) + 1));
    tools.sink.begin("content");
    const isWhole = copyBlocks(container, { pointers, size, log }, tools);
    tools.sink.end();
    return isWhole
      ? { kind: "opened", covered: [{ start: 0, end: pointers.readUInt32LE(pointers.length - 4) }] }
      : UNREADABLE;
  },
};

const isZisofs = bytePattern("37 e4 53 96 c9 db d6 07 ..*8");
const ZISOFS_HEADER = 16;
const UNREADABLE: Outcome = { kind: "unreadable" };

function copyBlocks(
  container: Blob,
  { pointers, size, log }: { pointers: Buffer; size: number; log: number },
  { sink, budget }: Tools,
): boolean {
  const blocks = Math.ceil(size / 2 ** log);
  if (pointers.length < 4 * (blocks + 1)) return false;
  for (let block = 0; block < blocks; block += 1) {
    const bytes = Math.min(2 ** log, size - block * 2 ** log);
    const [from, to] = [pointers.readUInt32LE(block * 4), pointers.readUInt32LE(block * 4 + 4)];
    const unpacked = from === to ? { content: Buffer.alloc(bytes) } : unzlib(container.slice(from, to), 0, budget);
    if (!unpacked || unpacked === "too-large") return false;
    sink.write(unpacked.content);
  }
  return true;
}
