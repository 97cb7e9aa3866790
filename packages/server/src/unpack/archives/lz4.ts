import { type Blob, rangeRecorder } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Outcome, Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Files of lz4: frames one behind the other, which the program gives out as one file; some libraries stop after the first.
 * Frames of the old program, which the Linux kernel still writes, have no end, and frames to be skipped may stand between.
 */
export const lz4: Opener = {
  kind: "lz4",
  archive: true,
  knownBy: [byteAt(0, "04", "02", "50-5f")],
  find: (content) => (isLz4(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: openLz4,
};

/** A block of lz4 as Firefox keeps bookmarks and sessions: a word, the size, the block. */
export const mozLz4: Opener = {
  kind: "mozlz4",
  archive: true,
  knownBy: [byteAt(0, "'m'")],
  find: (content) => (isMozLz4(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) =>
    openFrames(container, tools, (at, output) => {
      if (at > 0) return undefined;
      const block = container.bytes(MOZ_HEADER, tools.budget.limits.memberInMemoryBytes);
      tools.budget.addWork(block.length);
      return { kind: "frame", at: container.size, damaged: !readBlock(block, output) };
    }),
};

const isMozLz4 = bytePattern("'mozLz40' 00 ..*4");
const MOZ_HEADER = 12;

const FRAME = 0x184d2204;
const OLD_FRAME = 0x184c2102;
const SKIPPED = 0x184d2a5;

const isSkipped = (magic: number): boolean => magic >>> 4 === SKIPPED;

/** Frames to be skipped stand in front of those of other programs too: what counts is the first other one. */
function isLz4(head: Buffer): boolean {
  let at = 0;
  for (;;) {
    if (at + 8 > head.length) return false;
    const magic = head.readUInt32LE(at);
    if (magic === FRAME || magic === OLD_FRAME) return true;
    if (!isSkipped(magic)) return false;
    at += 8 + head.readUInt32LE(at + 4);
  }
}

function openLz4(container: Blob, tools: Tools): Outcome {
  return openFrames(container, tools, (at, output) => {
    const head = container.bytes(at, 8);
    const magic = head.length < 4 ? 0 : head.readUInt32LE(0);
    // What is in such a frame is not for those who unpack: it is left over, and looked at as such.
    if (isSkipped(magic) && head.length === 8) return { kind: "skipped", at: at + 8 + head.readUInt32LE(4) };
    if (magic !== FRAME && magic !== OLD_FRAME) return undefined;
    return { kind: "frame", ...readFrame(container, at, { output, tools }) };
  });
}

interface Reading {
  output: SlidingOutput;
  tools: Tools;
}

/** Where the next one begins. */
interface FrameEnd {
  at: number;
  damaged: boolean;
}

/** Reads one frame and gives what is in it to the output; nothing if there is none. */
type FrameReader = (
  at: number,
  output: SlidingOutput,
) => ({ kind: "frame" } & FrameEnd) | { kind: "skipped"; at: number } | undefined;

/** More than this many are given as one file, and the first by itself. */
const FRAMES_AT_MOST = 64;

/** All frames as one file, and if there are several, each by itself. */
export function openFrames(container: Blob, { sink }: Tools, read: FrameReader): Outcome {
  const starts: number[] = [];
  const covered = rangeRecorder();
  let isDamaged = false;
  let at = 0;
  sink.begin("content");
  const output = slidingOutput(sink.write);
  while (at < container.size && !isDamaged) {
    output.forget();
    const frame = read(at, output);
    if (!frame) break;
    if (frame.kind === "frame") {
      covered.add(at, frame.at);
      if (starts.length <= FRAMES_AT_MOST) starts.push(at);
      isDamaged = frame.damaged;
    }
    at = frame.at;
  }
  output.end();
  sink.end();
  const [first] = starts;
  for (const start of starts.length > FRAMES_AT_MOST ? [first as number] : starts.slice(starts.length > 1 ? 0 : 1)) {
    const pieces = slidingOutput(sink.write);
    sink.begin("frame", undefined, { isPart: true });
    read(start, pieces);
    pieces.end();
    sink.end();
  }
  return isDamaged || first === undefined ? { kind: "unreadable" } : { kind: "opened", covered: covered.ranges() };
}

const FLAG = { dictionary: 1, contentChecksum: 4, contentSize: 8, blockChecksum: 16 } as const;
const CHECKSUM_BYTES = 4;
const STORED = 0x8000_0000;
/** Four megabytes is the largest that the format knows, eight the old one's. */
const BLOCK_BYTES = 16 * 1024 * 1024;

function readFrame(container: Blob, start: number, { output, tools }: Reading): FrameEnd {
  const isOld = container.bytes(start, 4).readUInt32LE(0) === OLD_FRAME;
  const flags = isOld ? 0 : (container.bytes(start + 4, 1)[0] ?? 0);
  const sizes = (flags & FLAG.contentSize ? 8 : 0) + (flags & FLAG.dictionary ? 4 : 0);
  let at = start + (isOld ? 4 : 7 + sizes);
  for (;;) {
    const head = container.bytes(at, 4);
    if (head.length < 4) return { at: isOld ? at : container.size, damaged: !isOld || head.length > 0 };
    const word = head.readUInt32LE(0);
    // Where the old frame ends is known by what follows: anything that is no size.
    if (isOld && (word === 0 || word > BLOCK_BYTES)) return { at, damaged: false };
    if (word === 0) break;
    const length = isOld ? word : word % STORED;
    if (length > BLOCK_BYTES) return { at, damaged: true };
    const block = container.bytes(at + 4, length);
    tools.budget.addWork(block.length + BLOCK_WORK);
    if (!isOld && word >= STORED) output.bytes(block, 0, length);
    else if (!readBlock(block, output)) return { at, damaged: true };
    if (block.length < length) return { at: container.size, damaged: true };
    at += 4 + length + (flags & FLAG.blockChecksum ? CHECKSUM_BYTES : 0);
  }
  at += 4 + (flags & FLAG.contentChecksum ? CHECKSUM_BYTES : 0);
  return { at: Math.min(at, container.size), damaged: at > container.size };
}

/** What a block costs even if nothing is in it. */
const BLOCK_WORK = 64;
const SHORTEST_MATCH = 4;

/** Literals and references to what came out before, in turns. Says whether all of it made sense. */
function readBlock(block: Buffer, output: SlidingOutput): boolean {
  let at = 0;
  /** Lengths of fifteen and more go on in the next bytes. */
  function longer(length: number): number {
    let sum = length;
    for (let byte = length === 15 ? 255 : 0; byte === 255; at += 1) {
      byte = block[at] ?? 0;
      sum += byte;
    }
    return sum;
  }
  while (at < block.length) {
    const token = block[at] as number;
    at += 1;
    const literals = longer(token >> 4);
    output.bytes(block, at, at + literals);
    if (at + literals > block.length) return false;
    at += literals;
    if (at === block.length) return true;
    if (at + 2 > block.length) return false;
    const distance = block.readUInt16LE(at);
    at += 2;
    if (!output.repeat(distance, longer(token & 15) + SHORTEST_MATCH)) return false;
  }
  return true;
}

/** What comes out, handed on in pieces, with as much of it kept as references reach back. */
export interface SlidingOutput {
  /** A stretch of the source, as far as it is there. */
  bytes(source: Buffer, start: number, end: number): void;
  /** Once more what came out so far back, for so long. Says whether there was as much. */
  repeat(distance: number, length: number): boolean;
  /** Nothing that follows refers to what was before. */
  forget(): void;
  end(): void;
}

const REACH = 64 * 1024;
const HANDED_ON = 512 * 1024;
const SHORT = 32;

function slidingOutput(write: (bytes: Uint8Array) => void): SlidingOutput {
  const room = Buffer.allocUnsafeSlow(REACH + HANDED_ON);
  /** What is kept for references, what of that has been handed on, what there is. */
  let [kept, done, used] = [0, 0, 0];

  function flush(): void {
    if (used > done) write(Uint8Array.from(room.subarray(done, used)));
    const from = Math.max(kept, used - REACH);
    room.copyWithin(0, from, used);
    used -= from;
    kept = 0;
    done = used;
  }
  return {
    bytes(source, start, end) {
      const stop = Math.min(end, source.length);
      for (let at = start; at < stop; ) {
        if (used === room.length) flush();
        const part = Math.min(stop - at, room.length - used);
        // Most are a few bytes, for which a call costs more than the copying.
        if (part < SHORT)
          for (let index = 0; index < part; index += 1) room[used + index] = source[at + index] as number;
        else source.copy(room, used, at, at + part);
        used += part;
        at += part;
      }
    },
    repeat(distance, length) {
      if (distance === 0 || distance > used - kept) return false;
      let source = used - distance;
      for (let left = length; left > 0; ) {
        if (used === room.length) {
          flush();
          source = used - distance;
        }
        // The distance may be short: what was repeated is repeated with it, so that each step is twice as long.
        const part = Math.min(left, room.length - used, used - source);
        if (part < SHORT)
          for (let index = 0; index < part; index += 1) room[used + index] = room[source + index] as number;
        else room.copyWithin(used, source, source + part);
        used += part;
        left -= part;
      }
      return true;
    },
    forget() {
      flush();
      kept = used;
    },
    end: flush,
  };
}
