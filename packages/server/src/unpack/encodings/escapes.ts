import type { Range } from "../blob.ts";
import { hexValue, isLineBreak, isSpace, type MemberWriter, marking, nextLine, type Text } from "./text.ts";

const QUOTES = marking("\"'`");
const isX = (byte: number): boolean => byte === 120 || byte === 88;

/** Escapes that make a string worth decoding, and how long it must be then. Letters of other scripts are ordinary text. */
const ESCAPES = 8;
const ESCAPES_OF_ALL_BYTES = 24;
const ESCAPED_BYTES = 54;
const PERCENT = 37;
const BACKSLASH = 92;
const AMPERSAND = 38;
const HASH = 35;
const LETTER_U = 117;
const OPENING = 123;
const CLOSING = 125;

/** One escape: what it means and how many characters it has, or none. Written into one object: there are many. */
export interface Escape {
  value: number;
  length: number;
}

/** `\x41`, `\u0041`, `\u{41}`, `\101`, `%41`, `%u0041`, `&#65;`, `&#x41;` */
export function readEscape(text: Text, at: number, escaped: Escape): boolean {
  escaped.length = 0;
  const sign = text.byte(at);
  const next = text.byte(at + 1);
  if (sign === PERCENT || sign === BACKSLASH) {
    if (sign === BACKSLASH && next === LETTER_U && text.byte(at + 2) === OPENING) return inBraces(text, at, escaped);
    if (next === LETTER_U) return number(text, { at, skip: 2, digits: 4, base: 16 }, escaped);
    if (sign === PERCENT) return number(text, { at, skip: 1, digits: 2, base: 16 }, escaped);
    if (isX(next)) return number(text, { at, skip: 2, digits: 2, base: 16 }, escaped);
    return next >= 48 && next <= 51 && number(text, { at, skip: 1, digits: 3, base: 8 }, escaped);
  }
  if (sign !== AMPERSAND || next !== HASH) return false;
  const base = isX(text.byte(at + 2)) ? 16 : 10;
  const first = at + (base === 16 ? 3 : 2);
  let value = 0;
  let behind = first;
  for (; behind < first + 7 && hexValue(text.byte(behind)) < base; behind += 1)
    value = value * base + hexValue(text.byte(behind));
  if (behind === first) return false;
  escaped.value = value;
  escaped.length = behind - at + (text.byte(behind) === 59 ? 1 : 0);
  return true;
}

function inBraces(text: Text, at: number, escaped: Escape): boolean {
  let behind = at + 3;
  escaped.value = 0;
  for (; behind < at + 9 && hexValue(text.byte(behind)) < 16; behind += 1)
    escaped.value = escaped.value * 16 + hexValue(text.byte(behind));
  if (behind === at + 3 || text.byte(behind) !== CLOSING) return false;
  escaped.length = behind + 1 - at;
  return true;
}

function number(
  text: Text,
  form: { at: number; skip: number; digits: number; base: number },
  escaped: Escape,
): boolean {
  let value = 0;
  for (let digit = 0; digit < form.digits; digit += 1) {
    const next = hexValue(text.byte(form.at + form.skip + digit));
    if (next >= form.base) return false;
    value = value * form.base + next;
  }
  escaped.value = value;
  escaped.length = form.skip + form.digits;
  return true;
}

const SIGNS = marking("%\\&", true);
/** All that matters within a string. */
const PLAIN = marking("%\\&\"'`<> \t\r\n", true);

const STARTS = ["%", "\\", "&#"].map((sign) => Buffer.from(sign));

/** Whether there are enough of the signs that escapes begin with: most texts have next to none. */
export function mayBeEscaped(text: Text, range: Range): boolean {
  let count = 0;
  for (const sign of STARTS) {
    for (let at = text.find(sign, range.start, range.end); at >= 0; at = text.find(sign, at + 1, range.end)) {
      count += 1;
      if (count >= ESCAPES) return true;
    }
  }
  return false;
}

/** Finds strings (between quotes, or else between spaces or angle brackets) with many escaped characters of one byte. */
export function findEscaped(text: Text, range: Range, found: (string: Range) => void): void {
  const escaped: Escape = { value: 0, length: 0 };
  /** What stands before this has been looked at. */
  let floor = range.start;
  for (let at = text.skip(SIGNS, range.start, range.end); at < range.end; ) {
    if (readEscape(text, at, escaped)) {
      readString(at);
      at = Math.max(at + 1, floor);
    } else at += text.byte(at) === BACKSLASH ? 2 : 1;
    at = text.skip(SIGNS, at, range.end);
  }

  /** The string that an escape stands in. */
  function readString(first: number): void {
    let start = first;
    let space = -1;
    while (start > floor && !isEdge(text.byte(start - 1))) {
      start -= 1;
      if (space < 0 && isSpace(text.byte(start))) space = start;
    }
    const before = start > range.start ? text.byte(start - 1) : -1;
    const quote = before >= 0 && QUOTES[before] === 1 ? before : 0;
    if (quote === 0 && space >= 0) start = space + 1;

    let escapes = 0;
    let all = 0;
    let saved = 0;
    let at = first;
    for (; at < range.end; at = text.skip(PLAIN, at, range.end)) {
      const byte = text.byte(at);
      if (readEscape(text, at, escaped)) {
        all += 1;
        if (escaped.value < 128) escapes += 1;
        saved += escaped.length - (escaped.value > 255 ? 2 : 1);
        at += escaped.length;
        continue;
      }
      if (QUOTES[byte] === 1 ? quote === 0 || byte === quote : isLineBreak(byte)) break;
      if (quote === 0 && isOutside(byte)) break;
      at += byte === BACKSLASH ? 2 : 1;
    }
    const end = Math.min(at, range.end);
    const many = escapes >= ESCAPES || all >= ESCAPES_OF_ALL_BYTES;
    if (end - start - saved >= ESCAPED_BYTES && many) found({ start, end });
    floor = end;
  }
}

const isEdge = (byte: number): boolean => QUOTES[byte] === 1 || isLineBreak(byte) || byte === 60 || byte === 62;

/** What ends a text that is not in quotes: a space, or an angle bracket. */
const isOutside = (byte: number): boolean => isSpace(byte) || byte === 60 || byte === 62;

/**
 * Decodes a string by its first escape: where that is one of a script, other signs than a backslash mean themselves, and
 * letters behind one are escapes, too. Values of two bytes are written as they stand in memory, which is what `%u` was used
 * for: where one of these has two bytes, all have.
 */
export function decodeEscaped(text: Text, range: Range, writer: MemberWriter): void {
  const escaped: Escape = { value: 0, length: 0 };
  const isWide = hasWideEscape(text, range);
  let isScript: boolean | undefined;
  let at = dataUrlStart(text, range);
  while (at < range.end) {
    const byte = text.byte(at);
    const mayEscape = byte === BACKSLASH || (isScript !== true && (byte === PERCENT || byte === AMPERSAND));
    if (mayEscape && readEscape(text, at, escaped)) {
      isScript ??= byte === BACKSLASH;
      writer.byte(escaped.value & 255);
      if (escaped.value > 255 || (isWide && byte === PERCENT && text.byte(at + 1) === LETTER_U))
        writer.byte((escaped.value >> 8) & 255);
      at += escaped.length;
    } else if (byte === BACKSLASH && isScript !== false && at + 1 < range.end)
      at = decodeShort(at, text, range, writer);
    else {
      writer.byte(byte);
      at += 1;
    }
  }
}

/** Decodes a backslash before a letter, a short octal number or a line break; gives where it ends. */
function decodeShort(at: number, text: Text, range: Range, writer: MemberWriter): number {
  const next = text.byte(at + 1);
  // A line that goes on in the next one has no line break.
  if (isLineBreak(next)) return nextLine(text, at + 1, range.end);
  let behind = at + 1;
  let octal = 0;
  for (; behind < Math.min(at + 4, range.end) && (text.byte(behind) & ~7) === 48; behind += 1)
    octal = octal * 8 + text.byte(behind) - 48;
  if (behind > at + 1) writer.byte(octal & 255);
  else writer.byte(LETTERS.get(next) ?? next);
  return Math.max(behind, at + 2);
}

/** The control characters that have letters, in the languages that are like C. All other signs mean themselves. */
const LETTERS: ReadonlyMap<number, number> = new Map(
  ["a\u0007", "b\b", "f\f", "n\n", "r\r", "t\t", "v\v"].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]),
);

const WIDE = Buffer.from("%u");

function hasWideEscape(text: Text, range: Range): boolean {
  const escaped: Escape = { value: 0, length: 0 };
  for (let at = text.find(WIDE, range.start, range.end); at >= 0; at = text.find(WIDE, at + 1, range.end))
    if (readEscape(text, at, escaped) && escaped.value > 255) return true;
  return false;
}

/** `data:text/html,%3Cscript…`: what it holds begins behind the comma. */
function dataUrlStart(text: Text, range: Range): number {
  const head = text.string(range.start, Math.min(range.end, range.start + 256));
  if (!/^data:/i.test(head)) return range.start;
  const comma = head.indexOf(",");
  return comma < 0 ? range.start : range.start + comma + 1;
}
