import { ALL_LETTERS, base64Value, NO_LETTER, PAD } from "./base64.ts";
import { BREAK, type Breaks, DEPENDS } from "./candidates.ts";
import { type Escape, readEscape } from "./escapes.ts";
import { isLineBreak, isSpace, marking, nextLine, type Text } from "./text.ts";

const QUOTE = marking("\"'`");
/** What may stand between quoted strings that belong together: `" + "`, `" & _`, `"; s = s + "`. */
const JOINING_AT_MOST = 96;
/** What stands before and behind the data on lines that are alike. */
const ALIKE_AT_MOST = 64;
const WITHIN_LINE = marking("\r\n", true);
/** Strings of at least this length are joined whatever stands in between. */
const LONG_STRING = 32;
const COMMENT_SIGNS = marking("#*>;|%:");
const CONCATENATION = marking("+&.\\");
/** Line breaks in words have letters of their own: a long row of them would be read anew from each. */
const ESCAPES_AT_MOST = 16;
const ESCAPING = marking("%\\&");
const AMPERSAND = 38;
const NAMED_BLANKS: readonly string[] = ["&Tab;", "&NewLine;"];
const LETTER_N = 110;
const LETTER_R = 114;
const LETTER_T = 116;

/** Reads what stands between the letters of one run. */
export interface GapReader {
  /** Where the letters go on behind a line's, or -1. */
  next(from: number, line: { start: number; letters: number }): number;
  /** What comes next may be other data. */
  cuts(): boolean;
  /** It is the same line: there was only an escaped letter. */
  continues(): boolean;
  /** The value of a letter that was escaped, or -1. */
  letter(): number;
}

/** `b"…"`, `@"…"` */
function isStringPrefix(text: Text, at: number): boolean {
  return PREFIXES[text.byte(at)] === 1 && QUOTE[text.byte(at + 1)] === 1;
}

const PREFIXES = marking("bBrRuULf@$");

/** `blanks`: words with nothing but blanks between them are one run, as in the data of a URL. */
export function gapReader(text: Text, end: number, blanks = false): GapReader {
  const escaped: Escape = { value: 0, length: 0 };
  let cut = false;
  let same = false;
  let letter = -1;

  /** From a quote that ends a string to behind the one that begins the next, or -1. */
  function joinedString(from: number, letters: number): number {
    // Strings with nothing in between are one, too.
    let concatenated = true;
    let signed = false;
    let other = false;
    for (let at = from + 1; at < Math.min(end, from + JOINING_AT_MOST); at += 1) {
      const byte = text.byte(at);
      if (QUOTE[byte] === 1) {
        if (!concatenated) cut = true;
        const behind = text.skip(ALL_LETTERS, at + 1, at + 1 + LONG_STRING);
        const enough = concatenated || (!other && text.byte(behind + 1) !== 58) ? 0 : LONG_STRING - 1;
        return behind - at - 1 > enough ? at + 1 : -1;
      }
      if (CONCATENATION[byte] === 1) {
        concatenated = true;
        signed = true;
      } else if (!isSpace(byte) && !isLineBreak(byte) && byte !== 95 && !isStringPrefix(text, at)) {
        if (!signed) concatenated = false;
        if (byte === 44) continue;
        other = true;
        if (letters < LONG_STRING) return -1;
      }
    }
    return -1;
  }

  function next(from: number, line: { start: number; letters: number }): number {
    const found = nextLetters(from, line.letters);
    if (found >= 0 || line.letters < LONG_STRING) return found;
    return alikeLine(from, line.start);
  }

  /** The next line if it begins as this one does: `echo …>>file`. */
  function alikeLine(from: number, start: number): number {
    let column = 0;
    while (column < ALIKE_AT_MOST && text.byte(start - column - 1) >= 32) column += 1;
    if (column === 0 || column === ALIKE_AT_MOST) return -1;
    const lineStop = text.skip(WITHIN_LINE, from, Math.min(end, from + ALIKE_AT_MOST));
    if (!isLineBreak(text.byte(lineStop))) return -1;
    const begin = nextLine(text, lineStop, end);
    if (base64Value(text.byte(begin + column)) === NO_LETTER || begin + column >= end) return -1;
    for (let at = 0; at < column; at += 1) if (text.byte(begin + at) !== text.byte(start - column + at)) return -1;
    cut = false;
    same = false;
    letter = -1;
    return begin + column;
  }

  function nextLetters(from: number, letters: number): number {
    let at = from;
    while (at < end && text.byte(at) === PAD) at += 1;
    cut = at > from;
    same = false;
    letter = -1;
    let lines = 0;
    let escapes = 0;
    while (at < end && escapes < ESCAPES_AT_MOST) {
      const byte = text.byte(at);
      if (base64Value(byte) < NO_LETTER) {
        if (lines > 1) cut = true;
        return blanks || lines > 0 || text.byte(at - 1) === PAD ? at : -1;
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
        else if (escaped.value !== 13 && escaped.value !== PAD && !(blanks && isSpace(escaped.value))) return -1;
        if (escaped.value === PAD) cut = true;
      } else if (blanks && byte === AMPERSAND && namedBlank(at) > 0) {
        at += namedBlank(at);
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
  function namedBlank(at: number): number {
    return NAMED_BLANKS.find((name) => text.string(at, at + name.length) === name)?.length ?? 0;
  }

  return { next, cuts: () => cut, continues: () => same, letter: () => letter };
}

/**
 * What never stands within a run, unless one of its strings is long: known from a byte and those beside it, without
 * reading the gap. Whatever the reader above goes on behind must not be one of these.
 */
export const BASE64_BREAKS: Breaks = { table: breakTable(), depends: isNoGap, reach: LONG_STRING, joined: 256 };

function breakTable(): Uint8Array {
  const table = ALL_LETTERS.map((letter) => (letter === 1 ? 0 : BREAK));
  for (const byte of Buffer.from("\r\n\\%&")) table[byte] = 0;
  for (const byte of Buffer.from(" \t=,.@$:|#*>;\"'`")) table[byte] = DEPENDS;
  return table;
}

const LETTER_OR_DIGIT = ALL_LETTERS.map((letter, byte) => ("+/-_".includes(String.fromCharCode(byte)) ? 0 : letter));
const SEMICOLON = 59;
const BEHIND_STRING = marking(":|#*>;");

function isNoGap(piece: Buffer, at: number): boolean {
  const byte = piece[at] as number;
  const before = piece[at - 1] as number;
  if (byte === PAD) return ALL_LETTERS[before] !== 1 && before !== PAD && before !== SEMICOLON && at > 0;
  const quoted = QUOTE[before] === 1;
  // One word and the next, or a string and a word: nothing joins them. But the letter before may be an escape's.
  if (isSpace(byte)) return (quoted || endsWord(piece, at)) && isWord(piece, at + 1);
  if (QUOTE[byte] === 1) {
    const prefixed = PREFIXES[before] === 1 && LETTER_OR_DIGIT[piece[at - 2] as number] !== 1;
    return (before === PAD || (endsWord(piece, at) && !prefixed)) && isWord(piece, at + 1);
  }
  // A sign right behind a letter, or one behind a string that joins nothing.
  if (quoted) return BEHIND_STRING[byte] === 1;
  return endsWord(piece, at);
}

/** A letter or digit, and not the prefix of a string. */
function isWord(piece: Buffer, at: number): boolean {
  return LETTER_OR_DIGIT[piece[at] as number] === 1 && QUOTE[piece[at + 1] as number] !== 1 && at + 1 < piece.length;
}

/** A letter or digit before a position, unless it may be the end of an escape: `\n`, `%0A`, `&#10`. */
function endsWord(piece: Buffer, at: number): boolean {
  if (LETTER_OR_DIGIT[piece[at - 1] as number] !== 1 || at < ESCAPE_AT_MOST) return false;
  for (let back = 2; back <= ESCAPE_AT_MOST; back += 1) if (ESCAPING[piece[at - back] as number] === 1) return false;
  return true;
}

const ESCAPE_AT_MOST = 8;
