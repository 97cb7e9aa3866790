import type { Range } from "../opener.ts";
import { type Escape, readEscape } from "./escapes.ts";
import { lineBlocks, type Reading } from "./line-blocks.ts";
import { isLineBreak, isSpace, type MemberWriter, marking, type Text } from "./text.ts";

/** Of 54 bytes: what is shorter says too little. */
export const BASE64_LETTERS = 72;

const PAD = 61;
const QUOTE = marking("\"'`");
const NO_LETTER = 64;
const VALUE = new Uint8Array(256).fill(NO_LETTER);
for (const [value, letter] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].entries())
  VALUE[letter.charCodeAt(0)] = value;
VALUE["-".charCodeAt(0)] = 62;
VALUE["_".charCodeAt(0)] = 63;
const NO_LETTERS = VALUE.map((value) => (value === NO_LETTER ? 1 : 0));
const ALL_LETTERS = VALUE.map((value) => (value === NO_LETTER ? 0 : 1));
/** Without the two of the other alphabet. */
const LETTERS = Uint8Array.from(ALL_LETTERS);
LETTERS["-".charCodeAt(0)] = 0;
LETTERS["_".charCodeAt(0)] = 0;

/** The value of a letter of either alphabet, or 64. */
export const base64Value = (byte: number): number => (byte < 0 ? NO_LETTER : (VALUE[byte] as number));
const isUrlSafe = (byte: number): boolean => byte === 45 || byte === 95;

/** Takes letters one by one and writes the bytes they mean. A pad ends a group of four, wherever it stands. */
export interface Base64Decoder {
  letter(value: number): void;
  /** Whether it stood where a pad belongs. */
  pad(): boolean;
  end(): void;
}

export function base64Decoder(write: (byte: number) => void): Base64Decoder {
  let bits = 0;
  let letters = 0;

  function end(): void {
    if (letters >= 2) write((letters === 2 ? bits >> 4 : bits >> 10) & 255);
    if (letters === 3) write((bits >> 2) & 255);
    letters = 0;
    bits = 0;
  }
  return {
    letter(value) {
      bits = (bits << 6) | value;
      letters += 1;
      if (letters < 4) return;
      write((bits >> 16) & 255);
      write((bits >> 8) & 255);
      write(bits & 255);
      letters = 0;
      bits = 0;
    },
    pad() {
      if (letters < 2) return false;
      end();
      return true;
    },
    end,
  };
}

/**
 * Finds runs of base64 in a text: on one line or many, in quotes, in strings that a script joins, behind a comment sign.
 * Calls `found` with each reading that is long enough and looks like base64 rather than like words.
 */
export function findBase64(text: Text, range: Range, found: (reading: Reading) => void): void {
  const blocks = lineBlocks((reading) => {
    if (reading.letters >= BASE64_LETTERS && isMixed(text, reading) && !isSymbol(text, reading)) found(reading);
  });
  const gaps = gapReader(text, range.end);
  for (let at = text.skip(NO_LETTERS, range.start, range.end); at < range.end; ) {
    at = text.skip(NO_LETTERS, readRun(at), range.end);
    blocks.finish();
  }

  /** From the first letter of a run to behind its last. */
  function readRun(first: number): number {
    let start = first;
    let at = first;
    let letters = 0;
    for (;;) {
      if (at > first && at === start && isDashes(text, at)) return at + DASHES;
      const end = text.skip(at - first < NAME_LETTERS ? LETTERS : ALL_LETTERS, at, range.end);
      letters += end - at;
      const byte = end < range.end ? text.byte(end) : -1;
      if (isUrlSafe(byte)) {
        // A letter of the other alphabet, or the sign between a name and what it names: both readings.
        const behind = text.skip(URL_SAFE, end, range.end);
        if (behind - end >= DASHES || isDigestName(text, first, behind)) return behind;
        if (letters > 0) blocks.line(start, end, letters);
        blocks.cut();
        blocks.line(end, behind, behind - end);
        blocks.cut();
        start = behind;
        at = behind;
        letters = 0;
        continue;
      }
      const next = byte < 0 ? -1 : gaps.next(end, letters);
      if (next >= 0 && gaps.continues()) {
        if (gaps.letter() >= 0) letters += 1;
        at = next;
        continue;
      }
      // What other words follow was most likely not the end of the data.
      if (next < 0 && start > first && isSpace(byte)) blocks.pause();
      // Most words are alone, and too short to be kept.
      if (letters > 0 && (start > first || next >= 0 || letters >= BASE64_LETTERS)) blocks.line(start, end, letters);
      if (next < 0) return Math.min(end + 1, range.end);
      if (gaps.cuts()) blocks.cut();
      start = next;
      at = next;
      letters = 0;
    }
  }
}

/** A name that data is joined to by a hyphen or an underscore is not longer. */
const NAME_LETTERS = 64;
const URL_SAFE = marking("-_");

/** What stands around a certificate: `-----END`. */
const DASHES = 5;
const isDashes = (text: Text, at: number): boolean => text.byte(at) === 45 && text.string(at, at + DASHES) === "-----";

/** Names of functions in programs, as C++ and Rust compilers write them, are as mixed as base64, and there are thousands. */
function isSymbol(text: Text, { start, end, letters }: Reading): boolean {
  if (letters > SYMBOL_LETTERS || text.byte(text.skip(ALL_LETTERS, end, end + SYMBOL_LETTERS)) !== 0) return false;
  let first = start;
  while (first > start - SYMBOL_LETTERS && VALUE[text.byte(first - 1)] !== NO_LETTER && first > 0) first -= 1;
  const sign = text.byte(text.skip(URL_SAFE, first, end));
  return text.byte(first) === 95 && (sign === 90 || sign === 82);
}

const SYMBOL_LETTERS = 1024;

/** Integrity values (`sha512-…`) are by far the most frequent runs, and nobody's files. */
function isDigestName(text: Text, start: number, end: number): boolean {
  const length = end - start;
  return (length === 5 || length === 7) && /^sha(1|256|384|512)-$/.test(text.string(start, end));
}

/** Decodes a reading that was found, in the same steps. */
export function decodeBase64(text: Text, range: Range, writer: MemberWriter): void {
  const decoder = base64Decoder(writer.byte);
  const gaps = gapReader(text, range.end);
  let position = range.start;
  let letters = 0;
  while (position < range.end) {
    const byte = text.byte(position);
    const value = VALUE[byte] as number;
    if (value !== NO_LETTER) {
      decoder.letter(value);
      letters += 1;
      position += 1;
      continue;
    }
    if (byte === PAD) decoder.pad();
    const next = gaps.next(position, letters);
    if (next < 0) break;
    position = next;
    if (!gaps.continues()) letters = 0;
    if (gaps.letter() >= 0) decoder.letter(gaps.letter());
  }
  decoder.end();
}

/** What may stand between quoted strings that belong together: `" + "`, `" & _`, `"; s = s + "`. */
const JOINING_AT_MOST = 96;
/** Strings of at least this length are joined whatever stands in between. */
const LONG_STRING = 32;
const COMMENT_SIGNS = marking("#*>;|%:");
const CONCATENATION = marking("+&.\\");
/** Line breaks in words have letters of their own: a long row of them would be read anew from each. */
const ESCAPES_AT_MOST = 16;
const ESCAPING = marking("%\\&");
const LETTER_N = 110;
const LETTER_R = 114;
const LETTER_T = 116;

/** Reads what stands between the letters of one run. */
interface GapReader {
  /** Where the letters go on, or -1. */
  next(from: number, letters: number): number;
  /** What comes next may be other data. */
  cuts(): boolean;
  /** It is the same line: there was only an escaped letter. */
  continues(): boolean;
  /** The value of a letter that was escaped, or -1. */
  letter(): number;
}

function gapReader(text: Text, end: number): GapReader {
  const escaped: Escape = { value: 0, length: 0 };
  let cut = false;
  let same = false;
  let letter = -1;

  /** From a quote that ends a string to behind the one that begins the next, or -1. */
  function joinedString(from: number, letters: number): number {
    let concatenated = false;
    let other = false;
    for (let at = from + 1; at < Math.min(end, from + JOINING_AT_MOST); at += 1) {
      const byte = text.byte(at);
      if (QUOTE[byte] === 1) {
        if (!concatenated) cut = true;
        const behind = text.skip(ALL_LETTERS, at + 1, at + 1 + LONG_STRING);
        const enough = concatenated || (!other && text.byte(behind + 1) !== 58) ? 0 : LONG_STRING - 1;
        return behind - at - 1 > enough ? at + 1 : -1;
      }
      if (CONCATENATION[byte] === 1) concatenated = true;
      else if (!isSpace(byte) && !isLineBreak(byte) && byte !== 95 && byte !== 44) {
        other = true;
        if (letters < LONG_STRING) return -1;
      }
    }
    return -1;
  }

  function next(from: number, letters: number): number {
    let at = from;
    while (at < end && text.byte(at) === PAD) at += 1;
    cut = at > from;
    same = false;
    letter = -1;
    let lines = 0;
    let escapes = 0;
    while (at < end && escapes < ESCAPES_AT_MOST) {
      const byte = text.byte(at);
      if (VALUE[byte] !== NO_LETTER) {
        if (lines > 1) cut = true;
        return lines > 0 || text.byte(at - 1) === PAD ? at : -1;
      }
      if (byte === 10 || (byte === 13 && text.byte(at + 1) !== 10)) {
        lines += 1;
        at += 1;
      } else if (byte === 13 || isSpace(byte) || (lines > 0 && COMMENT_SIGNS[byte] === 1)) at += 1;
      else if (QUOTE[byte] === 1) return joinedString(at, letters);
      else if (ESCAPING[byte] === 1 && readEscape(text, at, escaped)) {
        const value = base64Value(escaped.value);
        escapes += 1;
        at += escaped.length;
        if (value < NO_LETTER && lines === 0) {
          same = true;
          letter = value;
          return at;
        }
        if (escaped.value === 10) lines += 1;
        else if (escaped.value !== 13 && escaped.value !== PAD) return -1;
        if (escaped.value === PAD) cut = true;
      } else if (byte === 92) {
        const sign = text.byte(at + 1);
        escapes += 1;
        if (QUOTE[sign] === 1) return joinedString(at + 1, letters);
        if (sign === 47 && lines === 0) {
          same = true;
          return at + 1;
        }
        if (sign === LETTER_N) lines += 1;
        else if (sign !== LETTER_R && sign !== LETTER_T && !isLineBreak(sign)) return -1;
        at += isLineBreak(sign) ? 1 : 2;
      } else return -1;
    }
    return -1;
  }
  return { next, cuts: () => cut, continues: () => same, letter: () => letter };
}

/**
 * Base64 changes between capitals, small letters and digits all the time; words, names and paths do not. Judged over three
 * steps of sixteen letters: any of them that looks mixed makes what it stands in a candidate.
 */
function isMixed(text: Text, range: Range): boolean {
  let count = 0;
  let kind = 0;
  /** For this step and the two before it: capitals, small letters, others, changes; eight bits each. */
  let now = 0;
  let before = 0;
  let earlier = 0;
  for (let at = range.start; at < range.end; at += 1) {
    const byte = text.byte(at);
    if (VALUE[byte] === NO_LETTER) continue;
    const next = KIND[byte] as number;
    now += 1 << (next * 8);
    if (next !== kind) now += 1 << 24;
    kind = next;
    count += 1;
    if (count % 16 !== 0) continue;
    const sum = now + before + earlier;
    if ((sum & 255) >= 4 && ((sum >> 8) & 255) >= 4 && ((sum >> 16) & 255) >= 1 && sum >> 24 >= 17) return true;
    earlier = before;
    before = now;
    now = 0;
  }
  return false;
}

const KIND = new Uint8Array(256).fill(2);
KIND.fill(0, 65, 91);
KIND.fill(1, 97, 123);
