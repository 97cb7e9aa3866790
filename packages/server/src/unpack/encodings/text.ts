import { type Blob, type Range, readInto } from "../blob.ts";
import type { Budget } from "../budget.ts";
import type { MemberOptions, MemberSink } from "../opener.ts";

/** A content of any size as one long row of bytes, of which a piece at a time is in memory. */
export interface Text {
  readonly size: number;
  /** The byte at a position, or -1 outside of the content. */
  byte(position: number): number;
  /** The first position from a position on, before `end`, whose byte is not marked in the table; or `end`. */
  skip(marked: Uint8Array, from: number, end: number): number;
  /**
   * Where the next word begins that may be the first of a run: it has 16 letters, or what stands behind it may join it to
   * the next. Words that are alone are most of any text, so that this is where the time goes.
   */
  skipWords(kinds: WordKinds, from: number, end: number): number;
  /** Where the bytes stand next, from a position on and before `end`, or -1. */
  find(bytes: Buffer, from: number, end: number): number;
  /** A stretch as Latin-1, for what is short. */
  string(start: number, end: number): string;
}

/** What each byte is to a word: a letter of it (1), something that joins two or more letters (2) or any (3) to the next word. */
export type WordKinds = Uint8Array;

export function wordKinds(letters: Uint8Array, joining: { two: string; any: string }): WordKinds {
  const kinds = new Uint8Array(256);
  for (const byte of Buffer.from(joining.two, "latin1")) kinds[byte] = 2;
  for (const byte of Buffer.from(joining.any, "latin1")) kinds[byte] = 3;
  for (const [byte, letter] of letters.entries()) if (letter === 1) kinds[byte] = 1;
  return kinds;
}

const LONG_WORD = 16;

const PIECE = 256 * 1024;
const CHARGED_AT_ONCE = 16 * 1024;
/** Readers go back a little now and then; that must not load a piece again and again. */
const KEPT_BEHIND = 4096;

/** Each piece that is loaded is charged, however often; of what is in memory each byte that is passed over. */
export function textOf(content: Blob, budget?: Budget): Text {
  let buffer: Buffer | undefined;
  let piece: Buffer = Buffer.alloc(0);
  let pieceStart = 0;
  let passed = 0;

  /** Not for every word: asking the budget costs more than most steps do. */
  function pass(count: number): void {
    if (!budget || !content.inMemory) return;
    passed += Math.max(1, count);
    if (passed < CHARGED_AT_ONCE) return;
    budget.addWork(passed);
    passed = 0;
  }

  function load(position: number): void {
    // What is in memory needs no loading: it is all one piece.
    if (content.inMemory) {
      piece = content.bytes(0, content.size);
      return;
    }
    pieceStart = Math.max(0, position - (position < pieceStart ? PIECE / 2 : KEPT_BEHIND));
    buffer ??= Buffer.allocUnsafeSlow(Math.min(PIECE, content.size));
    piece = readInto(content, buffer.subarray(0, Math.min(PIECE, content.size - pieceStart)), pieceStart);
    budget?.addWork(piece.length);
  }

  return {
    size: content.size,
    byte(position) {
      const at = position - pieceStart;
      if (at >= 0 && at < piece.length) return piece[at] as number;
      if (position < 0 || position >= content.size) return -1;
      load(position);
      return piece[position - pieceStart] as number;
    },
    skip(marked, from, end) {
      const stop = Math.min(end, content.size);
      let at = from;
      while (at < stop) {
        if (at < pieceStart || at >= pieceStart + piece.length) load(at);
        const limit = Math.min(stop - pieceStart, piece.length);
        let index = at - pieceStart;
        while (index < limit && marked[piece[index] as number] === 1) index += 1;
        at = pieceStart + index;
        if (index < limit) break;
      }
      pass(at - from);
      return at < stop ? at : end;
    },
    skipWords(kinds, from, end) {
      const stop = Math.min(end, content.size);
      let at = from;
      while (at < stop) {
        if (at < pieceStart || at >= pieceStart + piece.length) load(at);
        const limit = Math.min(stop - pieceStart, piece.length);
        let index = at - pieceStart;
        for (;;) {
          while (index < limit && kinds[piece[index] as number] !== 1) index += 1;
          const start = index;
          // No further than needed: whoever reads a part of a long word comes back for the rest of it.
          const enough = Math.min(limit, start + LONG_WORD);
          while (index < enough && kinds[piece[index] as number] === 1) index += 1;
          if (start === limit) break;
          const joining = index < limit ? kinds[piece[index] as number] : 3;
          if (joining === 3 || index - start >= LONG_WORD || (joining === 2 && index - start > 1)) {
            pass(pieceStart + start - from);
            return pieceStart + start;
          }
        }
        at = pieceStart + limit;
      }
      pass(stop - from);
      return end;
    },
    find(bytes, from, end) {
      const stop = Math.min(end, content.size);
      for (let at = from; at + bytes.length <= stop; ) {
        if (at < pieceStart || at + bytes.length > pieceStart + piece.length) load(at);
        const searched = piece.subarray(at - pieceStart, stop - pieceStart);
        const found = searched.indexOf(bytes);
        if (found >= 0) {
          pass(at + found - from);
          return at + found;
        }
        at += searched.length - bytes.length + 1;
      }
      pass(stop - from);
      return -1;
    },
    string(start, end) {
      const from = Math.max(0, start);
      return content.bytes(from, Math.max(0, Math.min(end, content.size) - from)).toString("latin1");
    },
  };
}

/** Collects the bytes of a member, one by one, and hands them on in pieces. One at a time. */
export interface MemberWriter {
  begin(name: string, way?: string, options?: MemberOptions): void;
  byte(value: number): void;
  bytes(content: Uint8Array): void;
  end(): void;
}

export function memberWriter(sink: MemberSink): MemberWriter {
  let room = Buffer.allocUnsafeSlow(256);
  let used = 0;

  function flush(): void {
    if (used > 0) sink.write(Uint8Array.prototype.slice.call(room, 0, used));
    used = 0;
  }
  function makeRoom(): void {
    if (room.length >= WRITTEN_AT_ONCE) {
      flush();
      return;
    }
    const larger = Buffer.allocUnsafeSlow(room.length * 4);
    room.copy(larger, 0, 0, used);
    room = larger;
  }
  return {
    begin(name, way, options) {
      used = 0;
      sink.begin(name, way, options);
    },
    byte(value) {
      if (used === room.length) makeRoom();
      room[used] = value;
      used += 1;
    },
    bytes(content) {
      flush();
      if (content.length > 0) sink.write(content);
    },
    end() {
      flush();
      sink.end();
    },
  };
}

const WRITTEN_AT_ONCE = 64 * 1024;

/** Copies a stretch of the content as it stands. */
export function copyRange(content: Blob, range: Range, write: (bytes: Uint8Array) => void): void {
  for (let at = range.start; at < range.end; at += PIECE) write(content.bytes(at, Math.min(PIECE, range.end - at)));
}

/** A table for `skip`, of the characters given or of all others. */
export function marking(characters: string, others = false): Uint8Array {
  const table = new Uint8Array(256).fill(others ? 1 : 0);
  for (const byte of Buffer.from(characters, "latin1")) table[byte] = others ? 0 : 1;
  return table;
}

export const isSpace = (byte: number): boolean => byte === 32 || byte === 9;
export const isLineBreak = (byte: number): boolean => byte === 10 || byte === 13;
/** The value of a hexadecimal digit, or 16. */
export const hexValue = (byte: number): number => HEX[byte & 255] as number;

const HEX = new Uint8Array(256).fill(16);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  HEX[digit.charCodeAt(0)] = value;
  HEX[digit.toUpperCase().charCodeAt(0)] = value;
}

/** Where the line ends that a position is in: before its line break, or at `end`. */
export function lineEnd(text: Text, from: number, end: number): number {
  return text.skip(WITHIN_LINE, from, end);
}

const WITHIN_LINE = marking("\r\n", true);

/** Behind the line break at a position: CR LF, LF, or CR alone. */
export function nextLine(text: Text, at: number, end: number): number {
  if (at >= end) return end;
  return text.byte(at) === 13 && at + 1 < end && text.byte(at + 1) === 10 ? at + 2 : at + 1;
}
