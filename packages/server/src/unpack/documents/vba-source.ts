import { type Blob, piecesOf } from "../blob.ts";
import { type Opener, type Tools, whole } from "../opener.ts";
import { marksIn } from "../signature-search.ts";

/**
 * The source code of macros, which Office keeps compressed (MS-OVBA 2.4.1) in streams of a compound file. Rules for
 * macros would not find a word of it otherwise.
 */
export const vba: Opener = {
  kind: "vba",
  find(content) {
    if (marksIn(content, "macro").length === 0) return [];
    return sourcesIn(content).next().done ? [] : [{ start: 0, end: content.size, sure: false }];
  },
  open(container, tools) {
    for (const start of sourcesIn(container)) takeSource(container, start, tools);
    return { kind: "opened", covered: whole(container) };
  },
};

/** Every module's source begins with `Attribute`: a byte of flags, eight characters, the next flags, the ninth. */
const MARK = Buffer.from("\x00Attribut\x00e", "latin1");
/** A short one is searched for faster. */
const MARK_START = MARK.subarray(0, 5);
/** In front of the mark: a byte that says that it is compressed, and the header of the first chunk. */
const BEFORE = 3;
const CONTAINER = 0x01;
const CHUNK_BYTES = 4096;
const PIECE_BYTES = 256 * 1024;

/** Where the chunks of a source begin. */
function* sourcesIn(content: Blob): Generator<number> {
  for (const { at, bytes } of piecesOf(content, PIECE_BYTES, BEFORE + MARK.length)) {
    const starts: number[] = [];
    const next = (from: number): number => bytes.indexOf(MARK_START, from);
    // The piece is good until somebody else reads; what stands at its very end is the next one's.
    for (let hit = next(BEFORE); hit >= 0 && hit < PIECE_BYTES + BEFORE; hit = next(hit + 1)) {
      const isMark = bytes.subarray(hit, hit + MARK.length).equals(MARK);
      if (isMark && bytes[hit - BEFORE] === CONTAINER) starts.push(at + hit - BEFORE + 1);
    }
    yield* starts;
  }
}

/** As far as it goes: behind the source other things may stand, which are no chunks. */
function takeSource(container: Blob, start: number, { sink, budget }: Tools): void {
  sink.begin(`source-${start}`);
  for (let at = start; at + 2 <= container.size; ) {
    const chunk = container.bytes(at, CHUNK_BYTES + 2);
    const header = chunk.readUInt16LE(0);
    if (((header >> 12) & 0x7) !== 0x3) break;
    const length = 3 + (header & 0xfff);
    const body = chunk.subarray(2, length);
    budget.addWork(body.length);
    sink.write((header & 0x8000) === 0 ? body : decompressChunk(body));
    at += length;
  }
  sink.end();
}

function decompressChunk(body: Buffer): Buffer {
  const out = Buffer.alloc(CHUNK_BYTES);
  let length = 0;
  let at = 0;
  while (at < body.length) {
    const flags = body.readUInt8(at);
    at += 1;
    for (let bit = 0; bit < 8 && at < body.length; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        if (length < CHUNK_BYTES) out[length] = body.readUInt8(at);
        length = Math.min(CHUNK_BYTES, length + 1);
        at += 1;
        continue;
      }
      if (at + 2 > body.length) return out.subarray(0, length);
      const { offset, count } = copyToken(body.readUInt16LE(at), length);
      at += 2;
      if (offset > length) return out.subarray(0, length);
      for (let i = 0; i < count && length < CHUNK_BYTES; i += 1, length += 1) out[length] = out[length - offset] ?? 0;
    }
  }
  return out.subarray(0, length);
}

/** How many bits are the offset and how many the length depends on how much of the chunk is out already. */
function copyToken(token: number, length: number): { offset: number; count: number } {
  const offsetBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, length))));
  const countBits = 16 - offsetBits;
  return { offset: (token >> countBits) + 1, count: (token & ((1 << countBits) - 1)) + 3 };
}
