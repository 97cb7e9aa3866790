import type { Range } from "../blob.ts";
import { BREAK, type Breaks, DEPENDS } from "./candidates.ts";
import { lineBlocks, type Reading } from "./line-blocks.ts";
import { hexValue, isLineBreak, isSpace, type MemberWriter, marking, type Text, wordKinds } from "./text.ts";

/** Of 54 bytes. */
const HEX_DIGITS = 108;
const QUOTES = marking("\"'`");
/** What stands between bytes that are written one by one: `4d 5a`, `0x4d, 0x5a`, `\x4d\x5a`, `%4d`, `4d:5a`, `&H4D`, `4Dh`. */
const SEPARATOR_SIGNS = ",;:=-_\\xX%&Hh$#+{}()[]|.\"'`";
const SEPARATORS = marking(SEPARATOR_SIGNS);
const DIGITS = marking("0123456789abcdefABCDEF");
const WORDS = wordKinds(DIGITS, { two: `${SEPARATOR_SIGNS} \t\r\n`, any: "xX\"'`" });
const SEPARATORS_AT_MOST = 12;
const JOINING_AT_MOST = 96;
const LONG_STRING = 32;
const SINGLE_DIGITS = 16;

const BLANK = marking(" \t");
const BLANK_OR_BREAK = marking(" \t\r\n");

const isH = (byte: number): boolean => byte === 72 || byte === 104;
const isX = (byte: number): boolean => byte === 120 || byte === 88;

/** What never stands within a run, unless one of its strings is long. */
export const HEX_BREAKS: Breaks = {
  table: breakTable(),
  depends: isBehindOddWord,
  reach: LONG_STRING,
  least: { bytes: HEX_DIGITS, letters: DIGITS },
  joined: 256,
};

function breakTable(): Uint8Array {
  const table = new Uint8Array(256).fill(BREAK);
  for (const byte of Buffer.from(`0123456789abcdefABCDEF${SEPARATOR_SIGNS}`)) table[byte] = 0;
  for (const byte of Buffer.from(" \t\r\n,;:.|")) table[byte] = DEPENDS;
  return table;
}

/** Whether it ends a short word with half a byte in it: a number, as tables are full of. Not if strings may be joined there. */
function isBehindOddWord(piece: Buffer, at: number): boolean {
  let start = at;
  while (start > 0 && at - start < ODD_WORD && DIGITS[piece[start - 1] as number] === 1) start -= 1;
  if ((at - start) % 2 === 0 || at - start >= ODD_WORD) return false;
  for (let back = start - 1; back >= 0 && back >= start - GAP_AT_MOST; back -= 1) {
    const byte = piece[back] as number;
    if (QUOTES[byte] === 1 || isX(byte) || isH(byte)) return false;
    if (DIGITS[byte] === 1 || (SEPARATORS[byte] !== 1 && !isSpace(byte) && !isLineBreak(byte))) return true;
  }
  return false;
}

/** A number with an odd count of digits is half a byte too long, or a number; not if it is as long as this. */
const ODD_WORD = 8;
const GAP_AT_MOST = 16;

/** Finds runs of hexadecimal digits, with or without signs between the bytes. */
export function findHex(text: Text, range: Range, found: (reading: Reading) => void): void {
  let kinds = 0;
  const blocks = lineBlocks((reading) => {
    if (reading.letters >= HEX_DIGITS && varied(kinds)) found(reading);
  });
  /** Bytes that stand one by one are one line, however many lines they take. */
  let single: Reading | undefined;
  function endSingle(): void {
    if (single) blocks.line(single.start, single.end, single.letters);
    single = undefined;
  }
  const words = hexWords(text, range.end, (start, end, cut) => {
    // What repeats is known after a few digits: a row of zeros is no run.
    for (let digit = start; digit < Math.min(end, start + 16); digit += 1) kinds |= 1 << hexValue(text.byte(digit));
    const letters = end - start;
    if (letters < SINGLE_DIGITS && single) {
      single.end = end;
      single.letters += letters;
    } else if (letters < SINGLE_DIGITS) single = { start, end, letters };
    else {
      endSingle();
      if (cut) blocks.cut();
      blocks.line(start, end, letters);
    }
  });
  for (let at = text.skipWords(WORDS, range.start, range.end); at < range.end; ) {
    kinds = 0;
    at = words(at);
    endSingle();
    blocks.finish();
    at = text.skipWords(WORDS, at, range.end);
  }
}

const varied = (kinds: number): boolean => {
  let count = 0;
  for (let rest = kinds; rest !== 0; rest &= rest - 1) count += 1;
  return count >= 4;
};

/** Decodes a reading that was found. Words of an odd length share a byte with the next, unless they are a byte each. */
export function decodeHex(text: Text, range: Range, writer: MemberWriter): void {
  let half = -1;
  const words = hexWords(text, range.end, (start, end) => {
    if (end - start === 1 && half < 0 && !isDigitAt(text, end, range.end)) {
      writer.byte(hexValue(text.byte(start)));
      return;
    }
    for (let at = start; at < end; at += 1) {
      const value = hexValue(text.byte(at));
      if (half < 0) half = value;
      else {
        writer.byte(half * 16 + value);
        half = -1;
      }
    }
  });
  words(range.start);
}

const isDigitAt = (text: Text, at: number, end: number): boolean => at < end && hexValue(text.byte(at)) < 16;

/**
 * Reads a run from its first digit on: calls `word` for each word of digits in it, and gives where the run ended. `cut`: what
 * came before is not the same data.
 */
function hexWords(
  text: Text,
  end: number,
  word: (start: number, end: number, cut: boolean) => void,
): (start: number) => number {
  let cut = false;
  let cutBefore = false;
  let prefixed = false;
  let joined = false;

  /** From behind a word to the next one, or -1. */
  function gap(from: number, length: number): number {
    let others = 0;
    let quotes = 0;
    let joining = false;
    cut = false;
    prefixed = false;
    joined = false;
    for (let position = from; position < end; position += 1) {
      const byte = text.byte(position);
      if (isSpace(byte) || isLineBreak(byte)) continue;
      if (DIGITS[byte] === 1) {
        cut = quotes > 0 && !joining;
        joined = quotes > 0 && joining;
        return position;
      }
      if (SEPARATORS[byte] !== 1) return quotes > 0 && length >= LONG_STRING ? nextString(position) : -1;
      others += 1;
      if (QUOTES[byte] === 1) quotes += 1;
      if (byte === 43 || byte === 38 || byte === 46) joining = true;
      prefixed = isX(byte) || byte === 72;
      if (others > SEPARATORS_AT_MOST) return -1;
    }
    return -1;
  }

  /** Long strings are joined whatever stands between them. */
  function nextString(from: number): number {
    for (let position = from; position < Math.min(end, from + JOINING_AT_MOST); position += 1) {
      if (QUOTES[text.byte(position)] !== 1) continue;
      cut = true;
      return position + 1 < end && DIGITS[text.byte(position + 1)] === 1 ? position + 1 : -1;
    }
    return -1;
  }

  /** From a number that has a line of its own to the digits of the next line, or -1: a DXF writes 310 in front of each line. */
  function behindLabel(start: number, behind: number): number {
    const isAlone = isLineBreak(text.byte(text.skip(BLANK, behind, end))) && isBehindBreak(start);
    const next = isAlone ? text.skip(BLANK_OR_BREAK, behind, end) : end;
    return next < end && DIGITS[text.byte(next)] === 1 ? next : -1;
  }

  function isBehindBreak(at: number): boolean {
    let before = at - 1;
    while (isSpace(text.byte(before))) before -= 1;
    return isLineBreak(text.byte(before));
  }

  return (first) => {
    cutBefore = false;
    prefixed = isX(text.byte(first - 1));
    joined = false;
    let lastLength = 0;
    for (let at = first; ; ) {
      if (text.byte(at) === 48 && isX(text.byte(at + 1)) && DIGITS[text.byte(at + 2)] === 1) {
        at += 2;
        prefixed = true;
      }
      const behind = text.skip(DIGITS, at, end);
      // A byte of an assembler begins with a digit: `0FFh`.
      if (behind - at === 3 && text.byte(at) === 48 && isH(text.byte(behind))) at += 1;
      const length = behind - at;
      if (length % 2 === 1 && length < ODD_WORD && !joined && !(length === 1 && prefixed)) {
        const next = lastLength >= LONG_STRING ? behindLabel(at, behind) : -1;
        if (next < 0) return behind;
        at = next;
        lastLength = 0;
        continue;
      }
      lastLength = length;
      const next = gap(behind, length);
      if (at > first || next >= 0 || length >= HEX_DIGITS) word(at, behind, cutBefore);
      cutBefore = cut;
      if (next < 0) return behind;
      at = next;
    }
  };
}
