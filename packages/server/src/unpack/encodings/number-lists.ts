import { type Blob, piecesOf, type Range } from "../blob.ts";
import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { BREAK, type Breaks, unbrokenStretches } from "./candidates.ts";

/**
 * Bytes written as decimal numbers, as scripts carry programs: `[77, 90, 144]`, `Chr(77) & Chr(90)`, one for each line.
 * Numbers up to 255 (or down to -128) follow each other with a little in between that has no digits.
 */
export const numberLists: Opener = {
  kind: "numbers",
  find(content) {
    const head = headOf(content);
    if (!looksLikeText(head)) return [];
    let any = false;
    for (const { start, end } of stretchesOf(content, head)) {
      lists(start === 0 && end === content.size ? content : content.slice(start, end), () => {
        any = true;
        return false;
      });
      if (any) break;
    }
    return any ? [{ start: 0, end: content.size, sure: false }] : [];
  },
  open(container, tools) {
    const give = (list: Buffer): boolean => {
      tools.sink.begin("numbers");
      tools.sink.write(list);
      tools.sink.end();
      return true;
    };
    lists(container, give, tools);
    return { kind: "opened", covered: whole(container) };
  },
};

/** Where lists may be: in a text that is full of signs that end them there is hardly room for one. */
function stretchesOf(content: Blob, head: Buffer): readonly Range[] {
  const all = { start: 0, end: content.size };
  let ends = 0;
  for (let at = 0; at < Math.min(head.length, TEXT_SAMPLE); at += 1) if (KIND[head[at] as number] === ENDS) ends += 1;
  const isFull = ends * BETWEEN_AT_MOST > Math.min(head.length, TEXT_SAMPLE);
  return isFull ? unbrokenStretches(content, all, LIST_BREAKS) : [all];
}

const PIECE_BYTES = 1024 * 1024;
/** The shortest list that is worth a look; tables of numbers are shorter, most of them. */
const NUMBERS_LEAST = 48;
/** `) & _` and a line break, some blanks, `ChrW(`: nobody writes more between two numbers. */
const BETWEEN_AT_MOST = 40;
/** What a list begins or ends with, and nobody writes between its numbers: `a1 = [77, 90]; b2 = 3`. */
const ENDS = 1;
/** So do brackets around numbers, but not around words: `[char]77+[char]90`. */
const BRACKET = 2;
const DIGIT = 3;
const LETTER = 4;
const KIND = new Uint8Array(256);
for (const byte of Buffer.from("=;{}")) KIND[byte] = ENDS;
for (const byte of Buffer.from("[]")) KIND[byte] = BRACKET;
KIND.fill(DIGIT, 0x30, 0x3a);
KIND.fill(LETTER, 0x41, 0x5b);
KIND.fill(LETTER, 0x61, 0x7b);
/** `1,2,3`: the shortest list has as many signs between its numbers, and none of those that end it. */
const LIST_BREAKS: Breaks = {
  table: KIND.map((kind) => (kind === ENDS ? BREAK : 0)),
  depends: () => false,
  reach: 2 * NUMBERS_LEAST - 1,
  joined: 0,
};
const [ZERO, MINUS] = [0x30, 0x2d];
/** Numbers stand alone or behind the same few words; in other texts, base64 among them, behind ever new ones. */
const WORDS_AT_MOST = 4;
const TEXT_SAMPLE = 1024;

function looksLikeText(head: Buffer): boolean {
  const sample = head.subarray(0, TEXT_SAMPLE);
  return sample.length > NUMBERS_LEAST && !sample.subarray(0, 512).includes(0);
}

/**
 * Every list of a content, in one pass over it; one that is very long comes in pieces. `found` says whether to go on. All in
 * one function, whose variables it has for itself: this is asked about every text, and most have numbers in them.
 */
function lists(content: Blob, found: (list: Buffer) => boolean, tools?: Tools): void {
  let known = 0;
  let count = 0;
  let value = 0;
  let digits = 0;
  let between = 0;
  let word = 0;
  let minus = false;
  /** The last byte was a letter, or a digit behind one. */
  let inWord = false;
  for (const { bytes } of piecesOf(content, PIECE_BYTES)) {
    tools?.budget.addWork(bytes.length);
    const { length } = bytes;
    const fours = foursOf(bytes);
    for (let at = 0; at < length; at += 1) {
      if (count === 0 && digits === 0) {
        const from = at;
        at = nextDigit(bytes, fours, from);
        const before = bytes[at - 1] as number;
        if (at > from) minus = before === MINUS;
        word = 0;
        if (at === length) break;
        // The digits of a word are no number: `part1`, and all of base64.
        if (KIND[before] === LETTER && at > 0) {
          while (at < length && (KIND[bytes[at] as number] as number) >= DIGIT) at += 1;
          at -= 1;
          continue;
        }
      }
      const byte = bytes[at] as number;
      const kind = KIND[byte] as number;
      if (kind === DIGIT && !(inWord && digits === 0)) {
        value = digits === DIGITS_AT_MOST ? TOO_LARGE : value * 10 + byte - ZERO;
        if (digits < DIGITS_AT_MOST) digits += 1;
        continue;
      }
      if (digits > 0) {
        const usual = word === 0 || (known > 0 && isKnown(word, known)) || known < WORDS_AT_MOST;
        if (value > 255 || count === LIST_BYTES || !usual) {
          if (count >= NUMBERS_LEAST && !found(numbers.subarray(0, count))) return;
          count = 0;
          known = 0;
        }
        if (word !== 0 && count > 0 && !isKnown(word, known)) {
          words[known] = word;
          known += 1;
        }
        if (value <= 255) {
          numbers[count] = minus ? 256 - value : value;
          count += 1;
        }
        value = 0;
        digits = 0;
        between = 0;
        word = 0;
        inWord = false;
      }
      minus = byte === MINUS;
      inWord = kind >= DIGIT;
      // Some languages care for capitals no more than we do.
      if (inWord) word = (Math.imul(word, 31) + (byte | SMALL)) | 0;
      between += 1;
      if (between > BETWEEN_AT_MOST || kind === ENDS || (kind === BRACKET && !isAtWord(bytes, at))) {
        if (count >= NUMBERS_LEAST && !found(numbers.subarray(0, count))) return;
        count = 0;
        known = 0;
      }
    }
  }
  if (digits > 0 && value <= 255 && count < LIST_BYTES) {
    numbers[count] = minus ? 256 - value : value;
    count += 1;
  }
  if (count >= NUMBERS_LEAST) found(numbers.subarray(0, count));
}

/** The first digit from a position on, or the end. Four bytes at a time, as most of a text is words. */
function nextDigit(bytes: Buffer, fours: Fours, from: number): number {
  const { length } = bytes;
  let at = from;
  while (at < length && (at < fours.start || (at - fours.start) % 4 !== 0)) {
    if (KIND[bytes[at] as number] === DIGIT) return at;
    at += 1;
  }
  for (let index = (at - fours.start) >> 2; index < fours.values.length; index += 1) {
    // A byte becomes zero if it is one of the sixteen that the digits are among.
    const signs = ((fours.values[index] as number) & FOUR_HIGH_HALVES) ^ FOUR_DIGITS;
    at = fours.start + index * 4 + 4;
    if (((signs - FOUR_ONES) & ~signs & FOUR_TOP_BITS) === 0) continue;
    for (let digit = at - 4; digit < at; digit += 1) if (KIND[bytes[digit] as number] === DIGIT) return digit;
  }
  while (at < length && KIND[bytes[at] as number] !== DIGIT) at += 1;
  return at;
}

/** The same bytes, four at a time, from the first address on where that can be read. */
interface Fours {
  start: number;
  values: Int32Array;
}

function foursOf(bytes: Buffer): Fours {
  const start = Math.min(bytes.length, (4 - (bytes.byteOffset % 4)) % 4);
  const count = (bytes.length - start) >> 2;
  return {
    start,
    values: count === 0 ? new Int32Array() : new Int32Array(bytes.buffer, bytes.byteOffset + start, count),
  };
}

const FOUR_HIGH_HALVES = 0xf0f0f0f0 | 0;
const FOUR_DIGITS = 0x30303030;
const FOUR_ONES = 0x01010101;
const FOUR_TOP_BITS = 0x80808080 | 0;

/** Whether a bracket stands before a word, or behind one. */
function isAtWord(bytes: Buffer, at: number): boolean {
  return KIND[bytes[bytes[at] === OPENING ? at + 1 : at - 1] as number] === LETTER;
}

const OPENING = 0x5b;
const SMALL = 0x20;

/** The words that stand before the numbers of a list. */
const words = new Int32Array(WORDS_AT_MOST);

function isKnown(word: number, known: number): boolean {
  for (let index = 0; index < known; index += 1) if (words[index] === word) return true;
  return false;
}

const LIST_BYTES = 64 * 1024;
/** Used again and again: whoever gets a list copies it. */
const numbers = Buffer.alloc(LIST_BYTES);
const DIGITS_AT_MOST = 3;
const TOO_LARGE = 1000;
