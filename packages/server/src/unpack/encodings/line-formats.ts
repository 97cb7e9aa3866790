import type { Range } from "../blob.ts";
import { hexValue, isLineBreak, isSpace, lineEnd, type MemberWriter, marking, nextLine, type Text } from "./text.ts";

/** The values of the letters of UU (space and grave accent are 0) and of XX; 64 for others. */
const UU = new Uint8Array(256).fill(64);
for (let value = 0; value <= 64; value += 1) UU[32 + value] = value & 63;
const XX = new Uint8Array(256).fill(64);
for (const [value, byte] of Buffer.from("+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz").entries())
  XX[byte] = value;
const UU_FULL_LINE = "M".charCodeAt(0);

export interface UuLines extends Range {
  alphabet: Uint8Array;
  /** The prefix of each line: nothing, or one sign, as shar puts it there. */
  prefix: 0 | 1;
  /** Whether a line of exactly the claimed length counts in which letters are not of the alphabet. */
  masked: boolean;
}

const UU_STARTS = ["\nM", "\rM", "\nbegin", "\rbegin", "\nXbegin"].map((start) => Buffer.from(start));
const SHAR_PREFIX = 88;
const UU_PROBE = 8;

/** Whether any line begins as one of UU does. It has no small letters, so that hardly a line of a text looks like it. */
export function mayBeUu(text: Text, range: Range): boolean {
  if (isUuStart(text, range.start)) return true;
  return UU_STARTS.some((start) => {
    let at = text.find(start, range.start, range.end);
    while (at >= 0 && !isUuStart(text, at + 1)) at = text.find(start, at + 1, range.end);
    return at >= 0;
  });
}

function isUuStart(text: Text, at: number): boolean {
  if (text.byte(at) === SHAR_PREFIX) return text.string(at + 1, at + 6) === "begin";
  if (text.byte(at) !== UU_FULL_LINE) return text.byte(at) === 98 && text.string(at, at + 5) === "begin";
  for (let next = at + 1; next < at + UU_PROBE; next += 1) if (UU[text.byte(next)] === 64) return false;
  return true;
}

/**
 * Finds UU data: behind a line `begin 644 name`, or without it a full line (it begins with `M`) and another that has the
 * length it claims. Behind `begin` it may be XX as well.
 */
export function findUu(text: Text, range: Range, found: (lines: UuLines) => void): void {
  let at = range.start;
  while (at < range.end) {
    const end = lineEnd(text, at, range.end);
    const next = nextLine(text, end, range.end);
    const prefix = text.byte(at) === SHAR_PREFIX ? 1 : 0;
    const begins =
      text.byte(at + prefix) === 98 &&
      /^begin(-\w+)? [0-7]{3,5}[ \t]/.test(text.string(at + prefix, Math.min(end, at + 31)));
    if (
      !begins &&
      !(text.byte(at) === UU_FULL_LINE && lineBytes(text, { start: at, end, alphabet: UU, masked: false }) === 45)
    ) {
      at = next;
      continue;
    }
    const start = begins ? next : at;
    let behind = next;
    for (const alphabet of begins ? [UU, XX] : [UU]) {
      const masked = begins && alphabet === UU;
      const lines = dataLines(text, { start, end: range.end, alphabet, prefix, masked });
      if (lines.count < (begins ? 1 : 2)) continue;
      found({ start, end: lines.end, alphabet, prefix, masked });
      behind = Math.max(behind, lines.end);
    }
    at = behind;
  }
}

/** Returns how many bytes a line holds, or -1 if it is no such data. Spaces at its end may be lost, any signs added. */
function lineBytes(text: Text, { start, end, alphabet, masked }: Omit<UuLines, "prefix">): number {
  const length = end - start;
  const bytes = alphabet[text.byte(start)] ?? 64;
  if (length < 1 || length > 90 || bytes === 64) return -1;
  const letters = Math.ceil(bytes / 3) * 4;
  if (length - 1 > letters + 2) return -1;
  if (masked && length - 1 === letters) return bytes;
  const behind = Math.min(end, start + 1 + letters);
  for (let at = start + 1; at < behind; at += 1) if (alphabet[text.byte(at)] === 64) return -1;
  // Whatever is short of a line must have been spaces; a line that is half missing was none.
  return length - 1 >= letters / 2 ? bytes : -1;
}

/** Up to the line `end`, or to where eight lines in a row are not of the kind; and how many lines hold bytes. */
function dataLines(text: Text, range: UuLines): { end: number; count: number } {
  let at = range.start;
  let last = at;
  let strange = 0;
  let count = 0;
  while (at < range.end && strange < 8) {
    const end = lineEnd(text, at, range.end);
    const start = Math.min(at + range.prefix, end);
    if (isEndLine(text, start, end)) return { end: at, count };
    const bytes = lineBytes(text, { ...range, start, end });
    if (bytes >= 0) {
      strange = 0;
      last = end;
      if (bytes > 0) count += 1;
    } else if (end > at) strange += 1;
    at = nextLine(text, end, range.end);
  }
  return { end: last, count };
}

function isEndLine(text: Text, start: number, end: number): boolean {
  return end - start >= 3 && end - start < 16 && text.string(start, end).trimEnd() === "end";
}

/** Passes over lines that are no such data. Decodes letters outside the alphabet by their low bits, as uudecode does. */
export function decodeUu(
  text: Text,
  { start, end, alphabet = UU, prefix = 0, masked = alphabet === UU }: Range & Partial<UuLines>,
  writer: MemberWriter,
): void {
  let at = start;
  while (at < end) {
    const stop = lineEnd(text, at, end);
    at = Math.min(at + prefix, stop);
    if (isEndLine(text, at, stop)) return;
    const bytes = lineBytes(text, { start: at, end: stop, alphabet, masked });
    const value = (offset: number): number => {
      if (at + offset >= stop) return 0;
      const known = alphabet[text.byte(at + offset)] as number;
      return known === 64 ? (text.byte(at + offset) - 32) & 63 : known;
    };
    for (let byte = 0; byte < bytes; byte += 3) {
      const letter = 1 + (byte / 3) * 4;
      const bits = (value(letter) << 18) | (value(letter + 1) << 12) | (value(letter + 2) << 6) | value(letter + 3);
      for (let index = 0; index < Math.min(3, bytes - byte); index += 1) writer.byte((bits >> (16 - 8 * index)) & 255);
    }
    at = nextLine(text, stop, end);
  }
}

/** All that it knows begins with these two, which are searched for much faster than longer ones. */
const YENC_SIGN = Buffer.from("=y");

/** Finds yEnc data, which is in no way text: between the lines `=ybegin` (and `=ypart`) and `=yend`, or the next beginning. */
export function findYenc(text: Text, found: (data: Range) => void): void {
  const { size } = text;
  /** Where the next one is, looked for anew only when it lies behind us. */
  const searched = (word: string): ((from: number) => number) => {
    let next = -1;
    return (from) => {
      if (next >= from) return next;
      next = text.find(YENC_SIGN, from, size);
      while (next >= 0 && text.string(next, next + word.length) !== word) next = text.find(YENC_SIGN, next + 1, size);
      if (next < 0) next = size;
      return next;
    };
  };
  const nextBegin = searched("=ybegin ");
  const nextEnd = searched("=yend");
  const behindLine = (at: number): number => nextLine(text, lineEnd(text, at, size), size);
  for (let begin = nextBegin(0); begin < size; begin = nextBegin(begin + 1)) {
    const line = behindLine(begin);
    const start = text.string(line, line + 7) === "=ypart " ? behindLine(line) : line;
    const end = Math.min(nextBegin(begin + 1), nextEnd(begin + 1));
    if (end > start) found({ start, end });
  }
}

/** With `stuffed`, a dot at the beginning of a line was doubled on its way, and one of the two is left out. */
export function decodeYenc(text: Text, range: Range, options: { writer: MemberWriter; stuffed: boolean }): void {
  let fresh = true;
  for (let at = range.start; at < range.end; at += 1) {
    const byte = text.byte(at);
    if (isLineBreak(byte)) {
      fresh = true;
      continue;
    }
    if (fresh && options.stuffed && byte === 46 && text.byte(at + 1) === 46) at += 1;
    fresh = false;
    if (byte === EQUALS && at + 1 < range.end) {
      at += 1;
      options.writer.byte((text.byte(at) - 64 - 42) & 255);
    } else options.writer.byte((byte - 42) & 255);
  }
}

const DOUBLED_DOTS = Buffer.from("\n..");

export function hasDoubledDots(text: Text, range: Range): boolean {
  return text.find(DOUBLED_DOTS, range.start, range.end) >= 0;
}

const EQUALS = 61;
const NO_EQUALS = marking("=", true);

/** Where the line break of a soft line end stops that begins at a `=`, or -1. */
function softBreak(text: Text, at: number, end: number): number {
  let behind = at + 1;
  while (behind < Math.min(end, at + 80) && isSpace(text.byte(behind))) behind += 1;
  return behind < end && isLineBreak(text.byte(behind)) ? nextLine(text, behind, end) : -1;
}

/** Whether there are any `=` before two digits: in most texts there are none. */
export function mayBeQuotedPrintable(text: Text, range: Range): boolean {
  let quoted = 0;
  for (let at = text.find(EQUALS_SIGN, range.start, range.end); at >= 0; ) {
    if (hexValue(text.byte(at + 1)) < 16 && hexValue(text.byte(at + 2)) < 16) quoted += 1;
    if (quoted >= QUOTED_LEAST) return true;
    at = text.skip(NO_EQUALS, at + 1, range.end);
    if (at >= range.end) break;
  }
  return false;
}

const EQUALS_SIGN = Buffer.from("=");
const QUOTED_LEAST = 4;

/** Whether a text is quoted-printable: most of its `=` stand before two digits or at the end of a line. */
export function isQuotedPrintable(text: Text, range: Range): boolean {
  let all = 0;
  let quoted = 0;
  let adjacent = 0;
  let soft = 0;
  let equals = 0;
  let last = -1;
  for (let at = text.skip(NO_EQUALS, range.start, range.end); at < range.end; ) {
    all += 1;
    const high = hexValue(text.byte(at + 1));
    const low = hexValue(text.byte(at + 2));
    if (high < 16 && low < 16) {
      quoted += 1;
      if (last === at - 3) adjacent += 1;
      if (high === 3 && low === 13) equals += 1;
      last = at;
    } else if (softBreak(text, at, range.end) >= 0) soft += 1;
    at = text.skip(NO_EQUALS, at + 1, range.end);
  }
  return quoted >= QUOTED_LEAST && (quoted + soft) * 2 >= all && (adjacent >= 4 || soft > 0 || equals > 0);
}

/**
 * Decodes with what is not allowed kept: a `=` that means nothing stays as it is. `python`: as Python reads it, where a `=`
 * and CR take all up to the next LF with them, and two `=` are one.
 */
export function decodeQuotedPrintable(text: Text, range: Range, writer: MemberWriter, python = false): void {
  let at = range.start;
  while (at < range.end) {
    const byte = text.byte(at);
    if (byte !== EQUALS) {
      writer.byte(byte);
      at += 1;
      continue;
    }
    const high = at + 2 < range.end ? hexValue(text.byte(at + 1)) : 16;
    const low = at + 2 < range.end ? hexValue(text.byte(at + 2)) : 16;
    const behind = high < 16 ? -1 : softBreak(text, at, range.end);
    if (high < 16 && low < 16) {
      writer.byte(high * 16 + low);
      at += 3;
    } else if (python && text.byte(at + 1) === 13) at = nextLine(text, text.skip(NO_FEED, at, range.end), range.end);
    else if (behind >= 0) at = behind;
    else {
      writer.byte(byte);
      at += python && text.byte(at + 1) === EQUALS ? 2 : 1;
    }
  }
}

const NO_FEED = marking("\n", true);
const SPACES = marking(" \t");

/** Printable ASCII, blanks and line breaks. */
const LEGAL = new Uint8Array(256).fill(1, 32, 127);
for (const byte of Buffer.from("\t\r\n")) LEGAL[byte] = 1;
/** All that needs no look at what stands beside it. */
const QUOTED_PLAIN = LEGAL.map((legal, byte) => ("= \t\r\n".includes(String.fromCharCode(byte)) ? 0 : legal));

/** Whether anything in it is not allowed, so that readers disagree. `feeds`: lines end with LF alone. */
export function isOddQuotedPrintable(text: Text, range: Range, feeds: boolean): boolean {
  for (let at = text.skip(QUOTED_PLAIN, range.start, range.end); at < range.end; ) {
    const byte = text.byte(at);
    let behind = at + 1;
    if (byte === EQUALS) {
      const isEscape = hexValue(text.byte(at + 1)) < 16 && hexValue(text.byte(at + 2)) < 16;
      behind = isEscape ? at + 3 : softBreak(text, at, range.end);
      if (behind < 0 || (!isEscape && !isWholeBreak(text, behind - 1, feeds))) return true;
    } else if (isSpace(byte)) {
      behind = text.skip(SPACES, at, range.end);
      if (behind < range.end && isLineBreak(text.byte(behind))) return true;
    } else if (!isLineBreak(byte)) return true;
    else {
      behind = nextLine(text, at, range.end);
      if (!isWholeBreak(text, behind - 1, feeds)) return true;
    }
    at = text.skip(QUOTED_PLAIN, behind, range.end);
  }
  return false;
}

/** Whether a line break is CR LF, or LF where all are, by its last byte. */
const isWholeBreak = (text: Text, last: number, feeds: boolean): boolean =>
  text.byte(last) === 10 && (feeds || text.byte(last - 1) === 13);

/**
 * Decodes as readers do that leave out what is not allowed: control characters, bytes above 126, half an escape, blanks at the
 * end of a line. `pairs`: nothing but CR LF is a line break, so that a CR or LF alone is left out, too.
 */
export function decodeLegalQuotedPrintable(
  text: Text,
  range: Range,
  { writer, pairs }: { writer: MemberWriter; pairs: boolean },
): void {
  for (let at = nextLegal(range.start); at < range.end; at = nextLegal(at)) {
    const byte = text.byte(at);
    if (byte !== EQUALS) {
      const behind = isSpace(byte) ? behindBlanks(at) : at;
      if (behind > at && (behind === range.end || isLineBreak(text.byte(behind)))) at = behind;
      else {
        writer.byte(byte);
        at += 1;
      }
      continue;
    }
    const first = nextLegal(at + 1);
    const behind = behindBlanks(first);
    const high = first < range.end ? hexValue(text.byte(first)) : 16;
    if (high === 16) {
      at = behind < range.end && isLineBreak(text.byte(behind)) ? nextLine(text, behind, range.end) : first;
      continue;
    }
    const second = nextLegal(first + 1);
    const low = second < range.end ? hexValue(text.byte(second)) : 16;
    if (low < 16) writer.byte(high * 16 + low);
    at = low < 16 ? second + 1 : second;
  }

  function nextLegal(from: number): number {
    let at = from;
    while (at < range.end) {
      const byte = text.byte(at);
      const isBare = pairs && ((byte === 13 && text.byte(at + 1) !== 10) || (byte === 10 && text.byte(at - 1) !== 13));
      if (LEGAL[byte] === 1 && !isBare) break;
      at += 1;
    }
    return Math.min(at, range.end);
  }

  function behindBlanks(from: number): number {
    let at = from;
    while (at < range.end && isSpace(text.byte(at))) at = nextLegal(at + 1);
    return at;
  }
}

const ASCII85_END = Buffer.from("~>");
/** Of 54 bytes. */
const ASCII85_LETTERS = 68;
/** The data of a line are one word of this length or more; what stands before may be words of a text. */
const ASCII85_LINE = 20;
const isAscii85 = (byte: number): boolean => (byte >= 33 && byte <= 117) || byte === 122 || byte === 121;
const isBlank = (byte: number): boolean => isSpace(byte) || isLineBreak(byte) || byte === 0 || byte === 12;

/** Finds ASCII85: what stands before `~>`, back to `<~` or to the first character that is none of it. */
export function findAscii85(text: Text, range: Range, found: (data: Range) => void): void {
  let floor = range.start;
  for (;;) {
    const end = text.find(ASCII85_END, floor, range.end);
    if (end < 0) return;
    let start = end;
    while (start > floor && (isAscii85(text.byte(start - 1)) || isBlank(text.byte(start - 1)))) start -= 1;
    if (end - start >= ASCII85_LETTERS) found({ start, end });
    const line = text.byte(start - 1) === 126 ? start : firstLongLine(text, { start, end });
    if (line > start && end - line >= ASCII85_LETTERS) found({ start: line, end });
    floor = end + 2;
  }
}

function firstLongLine(text: Text, range: Range): number {
  for (let at = range.start; at < range.end; ) {
    const end = text.skip(NO_BLANK, at, range.end);
    if (end - at >= ASCII85_LINE) return at;
    at = text.skip(BLANK, end, range.end);
  }
  return range.end;
}

const BLANK = marking(" \t\r\n");
const NO_BLANK = marking(" \t\r\n", true);

export function decodeAscii85(text: Text, range: Range, writer: MemberWriter): void {
  let value = 0;
  let digits = 0;
  function flush(count: number): void {
    for (let index = 0; index < count; index += 1) writer.byte(Math.floor(value / 2 ** (24 - 8 * index)) & 255);
    value = 0;
    digits = 0;
  }
  for (let at = range.start; at < range.end; at += 1) {
    const byte = text.byte(at);
    if (digits === 0 && (byte === 122 || byte === 121)) {
      value = byte === 122 ? 0 : 0x20202020;
      flush(4);
    } else if (byte >= 33 && byte <= 117) {
      value = value * 85 + (byte - 33);
      digits += 1;
      if (digits === 5) flush(4);
    }
  }
  if (digits < 2) return;
  const count = digits - 1;
  for (; digits < 5; digits += 1) value = value * 85 + 84;
  flush(count);
}
