import { adaptiveTree, type Bits, bitsOf } from "./lzh-tree.ts";

/**
 * How LHA and its forerunners pack: references to what came out before, and letters and lengths as Huffman codes. What is
 * before the beginning counts as well: spaces, or in the oldest a fixed pattern. Each gives what it could, and whether it was all.
 */
interface Unpacked {
  content: Buffer;
  isWhole: boolean;
}

type Decoder = (packed: Buffer, size: number) => Unpacked;

/** By the name of the method, without its dashes. */
export const LZH_DECODERS: Readonly<Record<string, Decoder>> = {
  ...Object.fromEntries(["lh0", "lz4", "lhd"].map((name) => [name, unstore])),
  lh1: unpackAdaptive,
  lh4: blockDecoder(14, 4),
  lh5: blockDecoder(14, 4),
  lh6: blockDecoder(16, 5),
  lh7: blockDecoder(17, 5),
  lhx: blockDecoder(21, 5),
  lzs: unpackLzs,
  lz5: unpackLz5,
};

function unstore(packed: Buffer, size: number): Unpacked {
  return { content: packed.subarray(0, size), isWhole: packed.length >= size };
}

interface Output {
  readonly length: number;
  isFull(): boolean;
  byte(value: number): void;
  repeat(distance: number, count: number): void;
  content(): Buffer;
}

/** Grows as it is filled: a header may claim any size. */
function output(size: number, before: (distance: number) => number = () => SPACE): Output {
  let room = Buffer.alloc(Math.min(size, FIRST_ROOM));
  let used = 0;
  const byte = (value: number): void => {
    if (used >= size) return;
    if (used === room.length) room = Buffer.concat([room], Math.min(size, room.length * 2));
    room[used] = value;
    used += 1;
  };
  return {
    get length() {
      return used;
    },
    isFull: () => used >= size,
    byte,
    repeat(distance, count) {
      for (let left = count; left > 0; left -= 1) {
        const from = used - distance;
        byte(from < 0 ? before(-from) : (room[from] as number));
      }
    },
    content: () => room.subarray(0, used),
  };
}

const FIRST_ROOM = 64 * 1024;
const SPACE = 0x20;

/** A code by the lengths of its words, or one that needs no bits at all. */
interface Code {
  counts: Uint16Array;
  symbols: number[];
  only?: number;
}

const LONGEST_WORD = 16;

function codeOf(lengths: readonly number[]): Code {
  const counts = new Uint16Array(LONGEST_WORD + 1);
  const symbols: number[] = [];
  for (let length = 1; length <= LONGEST_WORD; length += 1) {
    for (const [symbol, its] of lengths.entries()) {
      if (its !== length) continue;
      symbols.push(symbol);
      counts[length] = (counts[length] as number) + 1;
    }
  }
  return { counts, symbols };
}

/** Nothing where there is no such word. */
function nextSymbol({ counts, symbols, only }: Code, bits: Bits): number | undefined {
  if (only !== undefined) return only;
  let [word, first, index] = [0, 0, 0];
  for (let length = 1; length <= LONGEST_WORD; length += 1) {
    word |= bits.take(1);
    const count = counts[length] as number;
    if (word - first < count) return symbols[index + word - first];
    index += count;
    first = (first + count) << 1;
    word <<= 1;
  }
  return undefined;
}

const LETTERS = 256;
const SHORTEST = 3;
const LENGTH_CODES = { count: 19, bits: 5, zerosAfter: 3 } as const;
const LETTER_CODES = { count: 510, bits: 9 } as const;

/** Blocks with codes of their own: for the lengths of words, for letters and lengths, for distances. */
function blockDecoder(distances: number, distanceBits: number): Decoder {
  return (packed, size) => {
    const bits = bitsOf(packed);
    const out = output(size);
    while (!out.isFull() && !bits.isOver()) {
      let left = bits.take(16) || 0x10000;
      const words = readLengths(bits, LENGTH_CODES);
      const letters = readLetters(bits, words);
      const places = readLengths(bits, { count: distances, bits: distanceBits, zerosAfter: -1 });
      for (; left > 0 && !out.isFull() && !bits.isOver(); left -= 1) {
        const symbol = nextSymbol(letters, bits);
        if (symbol === undefined) return { content: out.content(), isWhole: false };
        if (symbol < LETTERS) {
          out.byte(symbol);
          continue;
        }
        const place = nextSymbol(places, bits);
        if (place === undefined) return { content: out.content(), isWhole: false };
        const distance = place < 2 ? place : 2 ** (place - 1) + bits.take(place - 1);
        out.repeat(distance + 1, symbol - LETTERS + SHORTEST);
      }
    }
    return { content: out.content(), isWhole: out.isFull() && !bits.isOver() };
  };
}

/** Three bits each, and ones for as long as it is longer than seven; after the third, how many zeros follow. */
function readLengths(bits: Bits, kind: { count: number; bits: number; zerosAfter: number }): Code {
  const count = bits.take(kind.bits);
  if (count === 0) return { ...codeOf([]), only: bits.take(kind.bits) };
  const lengths: number[] = [];
  while (lengths.length < Math.min(count, kind.count)) {
    let length = bits.take(3);
    if (length === 7) while (length < LONGEST_WORD && bits.take(1) === 1) length += 1;
    lengths.push(length);
    if (lengths.length === kind.zerosAfter) for (let zeros = bits.take(2); zeros > 0; zeros -= 1) lengths.push(0);
  }
  return codeOf(lengths);
}

function readLetters(bits: Bits, words: Code): Code {
  const count = bits.take(LETTER_CODES.bits);
  if (count === 0) return { ...codeOf([]), only: bits.take(LETTER_CODES.bits) };
  const lengths: number[] = [];
  while (lengths.length < Math.min(count, LETTER_CODES.count) && !bits.isOver()) {
    const word = nextSymbol(words, bits);
    if (word === undefined) break;
    if (word > 2) lengths.push(word - 2);
    else {
      const zeros = word === 0 ? 1 : word === 1 ? bits.take(4) + 3 : bits.take(9) + 20;
      for (let left = zeros; left > 0; left -= 1) lengths.push(0);
    }
  }
  return codeOf(lengths);
}

/** How long the words for the upper six bits of a distance are. */
const DISTANCE_LENGTHS = [
  [1, 3],
  [3, 4],
  [8, 5],
  [12, 6],
  [24, 7],
  [16, 8],
].flatMap(([count = 0, length = 0]) => Array<number>(count).fill(length));

function unpackAdaptive(packed: Buffer, size: number): Unpacked {
  const bits = bitsOf(packed);
  const out = output(size);
  const tree = adaptiveTree();
  const places = codeOf(DISTANCE_LENGTHS);
  while (!out.isFull() && !bits.isOver()) {
    const symbol = tree.next(bits);
    if (symbol < LETTERS) {
      out.byte(symbol);
      continue;
    }
    const upper = nextSymbol(places, bits) ?? 0;
    out.repeat(upper * 64 + bits.take(6) + 1, symbol - LETTERS + SHORTEST);
  }
  return { content: out.content(), isWhole: out.isFull() && !bits.isOver() };
}

const LZS_WINDOW = 2048;
const LZS_START = LZS_WINDOW - 17;

/** A bit for a letter, or where in the window and how long. */
function unpackLzs(packed: Buffer, size: number): Unpacked {
  const bits = bitsOf(packed);
  const out = output(size);
  while (!out.isFull() && !bits.isOver()) {
    if (bits.take(1) === 1) out.byte(bits.take(8));
    else {
      const place = bits.take(11);
      out.repeat(backTo(place, LZS_START + out.length, LZS_WINDOW), bits.take(4) + 2);
    }
  }
  return { content: out.content(), isWhole: out.isFull() && !bits.isOver() };
}

const LZ5_WINDOW = 4096;
const LZ5_START = LZ5_WINDOW - 18;

/** Eight flags in a byte, then as many letters, or two bytes for where in the window and how long. */
function unpackLz5(packed: Buffer, size: number): Unpacked {
  const out = output(size, (distance) => LZ5_BEFORE[(LZ5_START - distance + LZ5_WINDOW) % LZ5_WINDOW] as number);
  let at = 0;
  while (!out.isFull() && at < packed.length) {
    const flags = packed[at] as number;
    at += 1;
    for (let flag = 0; flag < 8 && !out.isFull() && at < packed.length; flag += 1) {
      if (flags & (1 << flag)) {
        out.byte(packed[at] as number);
        at += 1;
        continue;
      }
      const [low = 0, high = 0] = packed.subarray(at, at + 2);
      at += 2;
      const place = low + ((high & 0xf0) << 4);
      out.repeat(backTo(place, LZ5_START + out.length, LZ5_WINDOW), (high & 15) + SHORTEST);
    }
  }
  return { content: out.content(), isWhole: out.isFull() && at <= packed.length };
}

/** How far back a place in a window is from where it is written to. */
function backTo(place: number, position: number, window: number): number {
  return ((position - place - 1 + window * 2) % window) + 1;
}

/** Runs of each byte, all bytes upwards and downwards, zeros, spaces. */
const LZ5_BEFORE = Buffer.concat([
  ...Array.from({ length: 256 }, (_, byte) => Buffer.alloc(13, byte)),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => 255 - byte)),
  Buffer.alloc(128),
  Buffer.alloc(110, SPACE),
  Buffer.alloc(18),
]);
