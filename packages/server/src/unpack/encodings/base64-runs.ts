import type { Range } from "../blob.ts";
import { ALL_LETTERS, base64Decoder, base64Value, isUrlSafe, NO_LETTER, PAD } from "./base64.ts";
import { gapReader } from "./base64-gaps.ts";
import { type Escape, readEscape } from "./escapes.ts";
import { lineBlocks, type Reading } from "./line-blocks.ts";
import { isSpace, type MemberWriter, marking, type Text, wordKinds } from "./text.ts";

/** Of 54 bytes: what is shorter says too little. */
const BASE64_LETTERS = 72;
const WORDS = wordKinds(ALL_LETTERS, { two: "", any: "=\r\n\"'`\\%&" });
/** Without the two of the other alphabet. */
const LETTERS = ALL_LETTERS.map((letter, byte) => (isUrlSafe(byte) ? 0 : letter));
const SLASH = marking("/");
/** Nor the sign between folders. */
const NO_PATH = LETTERS.map((letter, byte) => (SLASH[byte] === 1 ? 0 : letter));
/** Matches the text before the path of an address: `https://example.com/a/b`, `GET /a/b`. */
const PATH_BEGINS = marking(" :.");

/**
 * Finds runs of base64 in a text: on one line or many, in quotes, in strings that a script joins, behind a comment sign.
 * Calls `found` with each reading that is long enough and looks like base64 rather than like words.
 */
export function findBase64(text: Text, range: Range, found: (reading: Reading) => void): void {
  /** Behind the signs that may end a name or a folder in front of the data. */
  let behindNames: number[] = [];
  let run = range.start;
  const blocks = lineBlocks((reading) => {
    if (reading.letters < BASE64_LETTERS || !isMixed(text, reading) || isSymbol(text, reading)) return;
    found(reading);
    if (reading.start !== run) return;
    for (const start of behindNames) {
      const letters = reading.letters - (start - run);
      if (letters >= BASE64_LETTERS) found({ start, end: reading.end, letters });
    }
  });
  const gapsOfText = gapReader(text, range.end);
  const gapsOfUrl = gapReader(text, range.end, true);
  const escaped: Escape = { value: 0, length: 0 };
  for (let at = text.skipWords(WORDS, range.start, range.end); at < range.end; ) {
    at = text.skipWords(WORDS, readRun(isEscaped(at) ? at - 1 : at), range.end);
    blocks.finish();
  }

  /** Whether what looks like letters is the rest of an escaped one: `%2B`. */
  function isEscaped(at: number): boolean {
    const sign = at > range.start ? text.byte(at - 1) : -1;
    return (sign === 37 || sign === 92) && readEscape(text, at - 1, escaped) && base64Value(escaped.value) < NO_LETTER;
  }

  /** From the first letter of a run to behind its last. */
  function readRun(first: number): number {
    const gaps = isDataUrl(text, first) ? gapsOfUrl : gapsOfText;
    let start = first;
    let at = first;
    let letters = 0;
    run = first;
    behindNames = [];
    const isPath = PATH_BEGINS[text.byte(first - 1)] === 1;
    for (;;) {
      if (at > first && at === start && isDashes(text, at)) return at + DASHES;
      const end = text.skip(at - first < NAME_LETTERS ? (isPath ? NO_PATH : LETTERS) : ALL_LETTERS, at, range.end);
      letters += end - at;
      const byte = end < range.end ? text.byte(end) : -1;
      if (base64Value(byte) < NO_LETTER) {
        // A letter, or the sign between a name and what it names: both readings.
        const behind = text.skip(isUrlSafe(byte) ? URL_SAFE : SLASH, end, range.end);
        if (isDashes(text, end) || isDigestName(text, first, behind)) return behind;
        if (behindNames.length < NAMES_AT_MOST) behindNames.push(behind);
        letters += behind - end;
        at = behind;
        continue;
      }
      // `name=`: what it names begins behind the sign.
      const named = text.byte(end + 1);
      if (
        byte === PAD &&
        end - first <= NAME_LETTERS &&
        start === first &&
        (named === 37 || base64Value(named) < NO_LETTER)
      )
        return end + 1;
      const next = byte < 0 ? -1 : gaps.next(end, { start, letters });
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
/** Each is one more reading of all that follows. */
const NAMES_AT_MOST = 8;
const URL_SAFE = marking("-_");

/** What stands around a certificate: `-----END`. */
const DASHES = 5;
const isDashes = (text: Text, at: number): boolean => text.byte(at) === 45 && text.string(at, at + DASHES) === "-----";

/** Whether a run is the data of a URL, in which browsers pass over blanks and line breaks. */
const isDataUrl = (text: Text, start: number): boolean =>
  text.byte(start - 1) === 44 && text.string(start - 7, start).toLowerCase() === "base64,";

/** Names of functions in programs, as C++ and Rust compilers write them, are as mixed as base64, and there are thousands. */
function isSymbol(text: Text, { start, end, letters }: Reading): boolean {
  if (letters > SYMBOL_LETTERS || text.byte(text.skip(ALL_LETTERS, end, end + SYMBOL_LETTERS)) !== 0) return false;
  let first = start;
  while (first > start - SYMBOL_LETTERS && base64Value(text.byte(first - 1)) < NO_LETTER && first > 0) first -= 1;
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
  const gaps = gapReader(text, range.end, isDataUrl(text, range.start));
  let position = range.start;
  let start = position;
  let letters = 0;
  while (position < range.end) {
    const byte = text.byte(position);
    const value = base64Value(byte);
    if (value !== NO_LETTER) {
      decoder.letter(value);
      letters += 1;
      position += 1;
      continue;
    }
    if (byte === PAD) decoder.pad();
    const next = gaps.next(position, { start, letters });
    if (next < 0) break;
    position = next;
    if (!gaps.continues()) {
      letters = 0;
      start = position;
    }
    if (gaps.letter() >= 0) decoder.letter(gaps.letter());
  }
  decoder.end();
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
    if (base64Value(byte) === NO_LETTER) continue;
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
