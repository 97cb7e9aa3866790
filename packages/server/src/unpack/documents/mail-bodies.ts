import type { Blob, Range } from "../blob.ts";
import { base64Decoder, base64Value, isUrlSafe, NO_LETTER } from "../encodings/base64.ts";
import {
  decodeLegalQuotedPrintable,
  decodeQuotedPrintable,
  decodeUu,
  findUu,
  isOddQuotedPrintable,
} from "../encodings/line-formats.ts";
import {
  copyRange,
  isLineBreak,
  isSpace,
  lineEnd,
  type MemberWriter,
  marking,
  nextLine,
  type Text,
} from "../encodings/text.ts";
import type { Encoding } from "./mail-headers.ts";

export interface Body extends Range {
  name: string;
  encodings: ReadonlySet<Encoding>;
  /** Further positions where the part ends for some programs. */
  maybeEnds: readonly number[];
  /** Boundaries that hold for a body that is not encoded, too. */
  plainEnds: readonly number[];
  /** Everything else about the part is by the book. */
  tidy: boolean;
}

interface Target {
  content: Blob;
  text: Text;
  writer: MemberWriter;
  /** Takes the bodies of which there is one reading only. */
  decoded: Range[];
}

/** Writes the members that a body is, one for each way in which programs read it. */
export function writeBody(body: Body, target: Target): void {
  const { text, writer } = target;
  const among = (ends: readonly number[]): number[] => [
    ...new Set([body.end, ...ends.filter((end) => end > body.start && end < body.end)]),
  ];
  const encodings = body.encodings.size === 0 ? NOT_ENCODED : body.encodings;
  function write(decode: (range: Range) => void, end: number): void {
    writer.begin(body.name);
    decode({ start: body.start, end });
    writer.end();
  }
  if (encodings.has("none") && body.end > body.start)
    for (const end of among(body.plainEnds)) write((range) => copyRange(target.content, range, writer.bytes), end);
  if (encodings.has("base64")) writeBase64(body, target);
  if (encodings.has("quoted-printable")) for (const end of among(body.maybeEnds)) writeQuotedPrintable(end);
  if (encodings.has("uu")) writeUu(body, target);

  /** Readers disagree about what is not allowed: it is kept, left out, or takes its line with it. */
  function writeQuotedPrintable(end: number): void {
    write((range) => decodeQuotedPrintable(text, range, writer), end);
    const feeds = text.byte(body.start - 1) === 10 && text.byte(body.start - 2) !== 13;
    if (!isOddQuotedPrintable(text, { start: body.start, end }, feeds)) return;
    write((range) => decodeQuotedPrintable(text, range, writer, true), end);
    for (const pairs of [false, true])
      write((range) => decodeLegalQuotedPrintable(text, range, { writer, pairs }), end);
  }
}

const NOT_ENCODED: ReadonlySet<Encoding> = new Set<Encoding>(["none"]);

function writeUu(body: Body, { text, writer }: Target): void {
  const found: Range[] = [];
  findUu(text, body, (lines) => {
    writer.begin(body.name);
    decodeUu(text, lines, writer);
    writer.end();
    if (found.length === 0) found.push(lines);
  });
  if (found.length > 0) return;
  writer.begin(body.name);
  decodeUu(text, body, writer);
  writer.end();
}

/** What a pass over base64 has seen that would be read otherwise by others; positions, or -1. */
interface Seen {
  /** Behind pads that were followed by more letters. */
  padEnd: number;
  /** Behind the first of too few pads that were followed by more letters. */
  shortPadEnd: number;
  /** Behind the first pad in the first half of a group that was followed by more letters. */
  strayPadEnd: number;
  /** The beginning of a line with signs of no alphabet, which was followed by letters or has some. */
  strangeLine: number;
  urlSafe: boolean;
  /** A letter whose highest bit is set. */
  highBit: boolean;
  /** Nothing but lines of up to 76 letters. */
  clean: boolean;
}

/**
 * Base64 as programs read it: signs that do not belong are passed over, and after pads, or too few of them, or a line that is
 * no base64, some stop and others go on. What all agree on comes out once.
 */
function writeBase64(body: Body, { content, text, writer, decoded }: Target): void {
  const whole = { start: body.start, end: body.end, ...AS_WRITTEN } as const;
  const length = body.end - body.start;
  if (length <= DECODED_AT_ONCE && body.maybeEnds.length === 0 && isByTheBook(content.bytes(body.start, length))) {
    writer.begin(body.name, body.tidy ? "mail/base64" : undefined);
    writer.bytes(Buffer.from(content.bytes(body.start, length).toString("latin1"), "base64"));
    writer.end();
    decoded.push({ start: body.start, end: body.end });
    return;
  }
  const seen = passOver(text, body);
  function write(reading: Reading, way?: string): void {
    writer.begin(body.name, way);
    decode(text, reading, writer);
    writer.end();
  }
  write(whole, body.tidy && seen.clean && body.maybeEnds.length === 0 ? "mail/base64" : undefined);
  const stops = new Set([seen.padEnd, seen.shortPadEnd, seen.strayPadEnd, seen.strangeLine, ...body.maybeEnds]);
  for (const end of stops) if (end > body.start && end < body.end) write({ ...whole, end });
  if (seen.shortPadEnd >= 0) write({ ...whole, pads: "any" });
  if (seen.padEnd >= 0) write({ ...whole, pads: "none" });
  if (seen.strayPadEnd >= 0) write({ ...whole, pads: "letters" });
  if (seen.urlSafe) write({ ...whole, urlSafe: true });
  if (seen.urlSafe || seen.strangeLine >= 0) write({ ...whole, wholeLines: true });
  if (seen.highBit) write({ ...whole, masked: true });
}

const LETTER = 1;
const KIND = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) if (base64Value(byte) < 64 && !isUrlSafe(byte)) KIND[byte] = LETTER;
const LINE_LETTERS = 76;

/** Nothing but full groups of letters on lines of up to 76, and pads at the end that leave no bits over: as everybody writes it. */
function isByTheBook(bytes: Buffer): boolean {
  let letters = 0;
  let lineStart = 0;
  let at = 0;
  for (; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (KIND[byte] === LETTER) {
      letters += 1;
      continue;
    }
    if (byte === PAD) break;
    if (at - lineStart > LINE_LETTERS || !(byte === 10 || (byte === 13 && bytes[at + 1] === 10))) return false;
    if (byte === 13) at += 1;
    lineStart = at + 1;
  }
  if (at - lineStart > LINE_LETTERS) return false;
  const pads = (4 - (letters % 4)) % 4;
  if (pads === 3 || bytes.toString("latin1", at).trimEnd() !== "=".repeat(pads)) return false;
  return pads === 0 || (KIND[bytes[at - 1] as number] === LETTER && !hasBitsLeft(bytes[at - 1] as number, pads));
}

/** Whether the last letter before so many pads has bits that nobody needs, and that clamd makes another byte of. */
function hasBitsLeft(letter: number, pads: number): boolean {
  return (base64Value(letter) & (pads === 2 ? 15 : 3)) !== 0;
}

/** Larger ones are decoded piece by piece. */
const DECODED_AT_ONCE = 4 * 1024 * 1024;

interface Reading extends Range {
  /** Whether `-` and `_` are letters. */
  urlSafe: boolean;
  /**
   * The end of a group: as many pads as there should be, one where there should be two, no pads at all, or four letters and
   * pads together.
   */
  pads: "complete" | "any" | "none" | "letters";
  /** Whether a line with signs of no alphabet is passed over as a whole. */
  wholeLines: boolean;
  /** Whether the highest bit of each byte is dropped, as Node does when it takes bytes for ASCII. */
  masked: boolean;
}

const AS_WRITTEN = { urlSafe: false, pads: "complete", wholeLines: false, masked: false } as const;
const PAD = 61;

function decode(text: Text, reading: Reading, writer: MemberWriter): void {
  const decoder = base64Decoder(writer.byte);
  let letters = 0;
  let pads = 0;
  let at = reading.wholeLines ? regularLine(text, reading.start, reading.end) : reading.start;
  for (; at < reading.end; at += 1) {
    const byte = reading.masked ? text.byte(at) & 127 : text.byte(at);
    const value = base64Value(byte);
    if (reading.wholeLines && isLineBreak(byte)) at = regularLine(text, at + 1, reading.end) - 1;
    else if (value < 64 && (reading.urlSafe || !isUrlSafe(byte))) {
      decoder.letter(value);
      letters = (letters + 1) % 4;
      pads = 0;
    } else if (byte === PAD && reading.pads !== "none") {
      pads += 1;
      const isEnd = letters + pads >= 4 || reading.pads === "any";
      if (!isEnd || (letters < 2 && reading.pads !== "letters")) continue;
      // A letter alone is no byte.
      decoder.end();
      letters = 0;
      pads = 0;
    }
  }
  decoder.end();
}

const REGULAR = marking("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t");

/** The next line of nothing but letters, pads and blanks. */
function regularLine(text: Text, from: number, end: number): number {
  for (let at = from; at < end; ) {
    const stop = lineEnd(text, at, end);
    if (text.skip(REGULAR, at, stop) === stop) return at;
    at = nextLine(text, stop, end);
  }
  return end;
}

function passOver(text: Text, body: Body): Seen {
  const seen: Seen = {
    padEnd: -1,
    shortPadEnd: -1,
    strayPadEnd: -1,
    strangeLine: -1,
    urlSafe: false,
    highBit: false,
    clean: true,
  };
  let letters = 0;
  let pads = 0;
  let lineStart = body.start;
  let padded = -1;
  let shortPadded = -1;
  let strayPadded = -1;
  let strange = -1;
  for (let at = body.start; at < body.end; at += 1) {
    const byte = text.byte(at);
    const value = base64Value(byte);
    if (value < 64) {
      if (isUrlSafe(byte)) {
        seen.urlSafe = true;
        seen.clean = false;
        continue;
      }
      if (padded >= 0 && seen.padEnd < 0) seen.padEnd = padded;
      if (pads > 0 && letters >= 2 && seen.shortPadEnd < 0) seen.shortPadEnd = shortPadded;
      if (strayPadded >= 0 && seen.strayPadEnd < 0) seen.strayPadEnd = strayPadded;
      if (strange >= 0 && seen.strangeLine < 0) seen.strangeLine = strange;
      letters = (letters + 1) % 4;
      pads = 0;
      if (padded >= 0 || at - lineStart >= 76) seen.clean = false;
    } else if (byte === PAD) {
      pads += 1;
      const last = text.byte(at - 1);
      // A pad on a line of its own does not tell which letter stands before it.
      if (pads === 1 && base64Value(last) === NO_LETTER) seen.clean = false;
      if (letters < 2 || (pads === 1 && hasBitsLeft(last, 4 - letters))) seen.clean = false;
      if (letters >= 2 && letters + pads >= 4) {
        if (padded < 0) padded = at + 1;
        letters = 0;
        pads = 0;
      } else if (letters >= 2 && shortPadded < 0) shortPadded = at + 1;
      else if (letters < 2 && strayPadded < 0) strayPadded = at + 1;
    } else if (isLineBreak(byte)) {
      // Returns alone end no line for clamd.
      if (byte === 13 && text.byte(at + 1) !== 10) seen.clean = false;
      lineStart = at + 1;
    } else {
      seen.clean = false;
      if (byte >= 128 && base64Value(byte & 127) < NO_LETTER) seen.highBit = true;
      if (!isSpace(byte) && strange < 0) strange = lineStart;
    }
  }
  // The letters of a strange line may stand before what is strange in it.
  if (strange >= 0 && seen.strangeLine < 0 && hasLetter(text, strange, body.end)) seen.strangeLine = strange;
  if (letters !== 0) seen.clean = false;
  return seen;
}

function hasLetter(text: Text, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (base64Value(text.byte(at)) < 64) return true;
  return false;
}
