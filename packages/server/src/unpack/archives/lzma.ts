import type { Blob } from "../blob.ts";

/** How an LZMA stream was packed. */
export interface LzmaProperties {
  /** High bits of the byte before, and low bits of the position, that a literal's probabilities depend on. */
  lc: number;
  lp: number;
  /** Low bits of the position that all other probabilities depend on. */
  pb: number;
  dictionaryBytes: number;
}

export interface LzmaOptions {
  properties: LzmaProperties;
  /** How many bytes come out, if it is known. */
  size?: number | undefined;
  /** The dictionary is kept in so much memory at most. */
  memoryBytes: number;
  /** Enough after so many bytes. */
  stopAfter?: number;
  /** Takes what came out; the bytes are overwritten afterwards. */
  write(bytes: Uint8Array): void;
  /** Told about the bytes that are read, piece by piece. */
  charge(bytes: number): void;
}

export interface LzmaEnd {
  kind:
    | "size"
    | "marker"
    /** The input was at its end before the stream was. */
    | "cut"
    | "damaged"
    /** It refers to what is farther back than the memory reaches. */
    | "too-large"
    | "stopped";
  consumed: number;
  produced: number;
  /** Nothing is left in the coder, as it should be where a stream ends. */
  clean: boolean;
}

/** The byte in which the three numbers are kept; undefined if there is no such byte. */
export function lzmaProperties(byte: number, dictionaryBytes: number): LzmaProperties | undefined {
  if (byte >= 9 * 5 * 5) return undefined;
  const rest = Math.floor(byte / 9);
  return { lc: byte % 9, lp: rest % 5, pb: Math.floor(rest / 5), dictionaryBytes };
}

const PAGE_BYTES = 64 * 1024;
const PIECE_BYTES = 64 * 1024;
/** Programs keep more than is stated: a reference that goes farther back is good for some of them. */
const SMALLEST_DICTIONARY = 64 * 1024;
const MARKER = 0xffff_ffff;

/** Where each set of probabilities begins. */
const IS_MATCH = 0;
const IS_REP = 192;
const IS_REP_0 = 204;
const IS_REP_1 = 216;
const IS_REP_2 = 228;
const IS_REP_0_LONG = 240;
const SLOTS = 432;
const SPECIAL = 688;
const ALIGN = 804;
const LENGTHS = 820;
const REP_LENGTHS = LENGTHS + 514;
const LITERALS = REP_LENGTHS + 514;

/** In a set of lengths: two choices, then eight short and eight middle ones for each position, then all the long ones. */
const SHORT = 2;
const MIDDLE = SHORT + 128;
const LONG = MIDDLE + 128;

/**
 * Decodes LZMA. 7-Zip does that too, but only with a header it likes, and it does not say what came out before an error.
 * The dictionary grows with what has come out, so that a header that asks for 4 GiB costs nothing.
 */
export function decodeLzma(input: Blob, start: number, options: LzmaOptions): LzmaEnd {
  const { lc, lp, pb, dictionaryBytes } = options.properties;
  const { size, stopAfter = Number.POSITIVE_INFINITY } = options;
  // Kept as differences from one half, so that a new array need not be filled: with lc 8 and lp 4 it has 6 MB.
  const probabilities = new Int16Array(LITERALS + (0x300 << (lc + lp)));
  const stated = Math.max(dictionaryBytes, SMALLEST_DICTIONARY);
  const reach = Math.min(stated, Math.max(SMALLEST_DICTIONARY, options.memoryBytes));
  let window = new Uint8Array(Math.min(reach, PIECE_BYTES));
  let at = 0;
  let written = 0;
  let produced = 0;
  let page: Uint8Array = new Uint8Array(0);
  let pageAt = 0;
  let next = start;
  let isCut = false;
  // Range and code, in an array because numbers of 32 bits in variables would be allocated one by one.
  const coder = new Uint32Array(2);

  function nextByte(): number {
    if (pageAt === page.length) {
      page = input.bytes(next, PAGE_BYTES);
      pageAt = 0;
      next += page.length;
      if (page.length === 0) {
        isCut = true;
        return 0;
      }
      options.charge(page.length);
    }
    const byte = page[pageAt] as number;
    pageAt += 1;
    return byte;
  }

  function normalize(): void {
    const range = coder[0] as number;
    if (range >= 0x100_0000) return;
    coder[0] = range << 8;
    coder[1] = ((coder[1] as number) << 8) | nextByte();
  }

  function bit(index: number): number {
    normalize();
    const range = coder[0] as number;
    const code = coder[1] as number;
    const probability = (probabilities[index] as number) + 1024;
    const bound = (range >>> 11) * probability;
    if (code < bound) {
      coder[0] = bound;
      probabilities[index] = probability + ((2048 - probability) >> 5) - 1024;
      return 0;
    }
    coder[0] = range - bound;
    coder[1] = code - bound;
    probabilities[index] = probability - (probability >> 5) - 1024;
    return 1;
  }

  function direct(count: number): number {
    let value = 0;
    for (let i = 0; i < count; i += 1) {
      normalize();
      const range = (coder[0] as number) >>> 1;
      const code = coder[1] as number;
      coder[0] = range;
      const one = code >= range;
      if (one) coder[1] = code - range;
      value = value * 2 + (one ? 1 : 0);
    }
    return value;
  }

  function tree(base: number, bits: number): number {
    let symbol = 1;
    for (let i = 0; i < bits; i += 1) symbol = (symbol << 1) | bit(base + symbol);
    return symbol - (1 << bits);
  }

  function reverseTree(base: number, bits: number): number {
    let symbol = 1;
    let value = 0;
    for (let i = 0; i < bits; i += 1) {
      const one = bit(base + symbol);
      symbol = (symbol << 1) | one;
      value |= one << i;
    }
    return value;
  }

  function length(base: number, position: number): number {
    if (bit(base) === 0) return tree(base + SHORT + (position << 3), 3);
    if (bit(base + 1) === 0) return 8 + tree(base + MIDDLE + (position << 3), 3);
    return 16 + tree(base + LONG, 8);
  }

  function distance(slot: number): number {
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return high + reverseTree(SPECIAL + high - slot, bits);
    return high + direct(bits - 4) * 16 + reverseTree(ALIGN, 4);
  }

  function flush(): void {
    if (at > written) options.write(window.subarray(written, at));
    written = at;
  }

  /** Makes room at `at`. */
  function turn(): void {
    flush();
    if (window.length >= reach) {
      at = 0;
      written = 0;
      return;
    }
    const larger = new Uint8Array(Math.min(reach, window.length * 2));
    larger.set(window);
    window = larger;
  }

  function put(byte: number): void {
    if (at === window.length) turn();
    window[at] = byte;
    at += 1;
    produced += 1;
    if (at - written >= PIECE_BYTES) flush();
  }

  function back(count: number): number {
    const from = at - count - 1;
    return window[from < 0 ? from + window.length : from] as number;
  }

  /** In one go where neither end of the window is in the way. */
  function copy(offset: number, count: number): void {
    const bytes = window;
    const to = at;
    const from = to - offset;
    if (from >= 0 && to + count <= bytes.length) {
      for (let i = 0; i < count; i += 1) bytes[to + i] = bytes[from + i] as number;
      at = to + count;
      produced += count;
      if (at - written >= PIECE_BYTES) flush();
      return;
    }
    for (let i = 0; i < count; i += 1) {
      if (at === window.length) turn();
      put(back(offset - 1));
    }
  }

  function literal(state: number, rep: number): number {
    const before = produced > 0 ? back(0) : 0;
    const base = LITERALS + 0x300 * (((produced & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
    let symbol = 1;
    if (state >= 7) {
      let match = back(rep);
      while (symbol < 0x100) {
        const expected = (match >> 7) & 1;
        match <<= 1;
        const one = bit(base + ((1 + expected) << 8) + symbol);
        symbol = (symbol << 1) | one;
        if (one !== expected) break;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(base + symbol);
    return symbol & 0xff;
  }

  function ended(kind: LzmaEnd["kind"]): LzmaEnd {
    normalize();
    flush();
    const consumed = next - page.length + pageAt - start;
    return { kind: isCut ? "cut" : kind, consumed, produced, clean: !isCut && coder[1] === 0 };
  }

  // It is zero, or wrong, and some programs do not look.
  nextByte();
  coder[0] = 0xffff_ffff;
  for (let i = 0; i < 4; i += 1) coder[1] = ((coder[1] as number) << 8) | nextByte();

  let state = 0;
  let rep0 = 0;
  let rep1 = 0;
  let rep2 = 0;
  let rep3 = 0;
  for (;;) {
    if (isCut) return ended("cut");
    if (produced >= stopAfter) return ended("stopped");
    // A stream of a known size may have a marker at its end all the same; if nothing is left in the coder there is none.
    const isFull = produced === size;
    if (isFull) {
      normalize();
      if (coder[1] === 0) return ended("size");
    }
    const position = produced & ((1 << pb) - 1);
    if (bit(IS_MATCH + (state << 4) + position) === 0) {
      if (isFull) return ended("size");
      if (rep0 >= produced && state >= 7) return ended("damaged");
      put(literal(state, rep0));
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count = 0;
    if (bit(IS_REP + state) === 0) {
      rep3 = rep2;
      rep2 = rep1;
      rep1 = rep0;
      count = length(LENGTHS, position) + 2;
      state = state < 7 ? 7 : 10;
      rep0 = distance(tree(SLOTS + (Math.min(count - 2, 3) << 6), 6));
      if (rep0 === MARKER) return ended("marker");
    } else if (bit(IS_REP_0 + state) === 0) {
      if (bit(IS_REP_0_LONG + (state << 4) + position) === 0) {
        count = 1;
        state = state < 7 ? 9 : 11;
      }
    } else {
      let found = rep1;
      if (bit(IS_REP_1 + state) === 1) {
        found = rep2;
        if (bit(IS_REP_2 + state) === 1) {
          found = rep3;
          rep3 = rep2;
        }
        rep2 = rep1;
      }
      rep1 = rep0;
      rep0 = found;
    }
    if (count === 0) {
      count = length(REP_LENGTHS, position) + 2;
      state = state < 7 ? 8 : 11;
    }
    if (isFull) return ended("size");
    if (isCut) return ended("cut");
    if (rep0 >= produced) return ended("damaged");
    if (rep0 >= reach) return ended(rep0 < stated ? "too-large" : "damaged");
    copy(rep0 + 1, size === undefined ? count : Math.min(count, size - produced));
  }
}
