import { isAscii, isUtf8 } from "node:buffer";
import type { Kind } from "./kinds.ts";
import type { Sample } from "./sample.ts";

/** How a text is written, and its first and last characters, which is all that is ever looked at. */
export interface Text {
  encoding: Kind;
  /** At most START_CHARACTERS, without byte order mark. */
  start: string;
  /** At most END_CHARACTERS; the same as `start` in a short text. */
  end: string;
  /** `start` is all there is. */
  whole: boolean;
}

const START_CHARACTERS = 4096;
const END_CHARACTERS = 256;
/** Control characters beyond this are not looked for, bytes of zero are everywhere. */
const CONTROL_BYTES = 4096;

/** The sample as text, or nothing when either end of the file has bytes that no text has. */
export function readText(sample: Sample): Text | undefined {
  const head = asBuffer(sample.head);
  const tail = asBuffer(sample.tail);
  const unicode = utf16Or32(head);
  if (unicode === "utf32") return { encoding: "utf32", start: "", end: "", whole: false };
  if (unicode) return wideText(sample, unicode);
  if (hasControls(head) || (tail !== head && tail.includes(0))) return undefined;

  const withMark = head.length >= 3 && head.readUIntBE(0, 3) === 0xefbbbf;
  const encoding = narrowEncoding(sample, head, tail);
  const start = head.toString(encoding === "utf8" ? "utf8" : "latin1", withMark ? 3 : 0, START_CHARACTERS);
  return {
    encoding: encoding === "utf8" && withMark ? "utf8-bom" : encoding,
    start,
    end: tail.toString("latin1", Math.max(0, tail.length - END_CHARACTERS)),
    whole: sample.sizeBytes <= START_CHARACTERS,
  };
}

const MOST_LINES = 100;

/** The first lines of a text, without their ends; only whole ones. */
export function firstLines({ start, whole }: Text): readonly string[] {
  const lines = start.split("\n", MOST_LINES);
  if (lines.length < MOST_LINES && (!whole || lines.at(-1) === "")) lines.pop();
  return start.includes("\r") ? lines.map((line) => line.replace(/\r$/, "")) : lines;
}

function narrowEncoding(sample: Sample, head: Buffer, tail: Buffer): Kind {
  if (isAscii(head) && isAscii(tail)) return "ascii";
  const cut = sample.sizeBytes > head.length;
  if (isUtf8(cut ? withoutLastPiece(head) : head) && isUtf8(cut ? withoutFirstPiece(tail) : tail)) return "utf8";
  // The letters of ISO 8859 start at 0xa0; what lies below belongs to code pages, or to no text at all.
  return head.subarray(0, CONTROL_BYTES).some((byte) => byte >= 0x80 && byte < 0xa0 && byte !== 0x85)
    ? "extended-ascii"
    : "latin";
}

/** Without the character of several bytes that the sample's end may have cut. */
function withoutLastPiece(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - back);
    if (byte < 0x80) break;
  }
  return bytes;
}

function withoutFirstPiece(bytes: Buffer): Buffer {
  let first = 0;
  while (first < 3 && ((bytes[first] ?? 0) & 0xc0) === 0x80) first++;
  return bytes.subarray(first);
}

/** Bell to carriage return, end of file and escape do occur in texts. */
const IN_TEXT = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte >= 7 && byte <= 13) || byte === 26 || byte === 27 || (byte >= 32 && byte !== 127) ? 1 : 0,
);

/** A few stray control characters do not unmake a text of some length; a zero does. */
function hasControls(head: Buffer): boolean {
  if (head.includes(0)) return true;
  const end = Math.min(head.length, CONTROL_BYTES);
  const allowed = Math.floor(end / 512);
  let controls = 0;
  for (let at = 0; at < end; at++) if (IN_TEXT[head[at] ?? 0] === 0 && ++controls > allowed) return true;
  return false;
}

function utf16Or32(head: Buffer): "utf16-le" | "utf16-be" | "utf32" | undefined {
  if (head.length < 2) return undefined;
  const mark = head.readUInt16BE(0);
  if (mark === 0xfffe) return head.length >= 4 && head.readUInt16BE(2) === 0 ? "utf32" : "utf16-le";
  if (mark === 0xfeff) return "utf16-be";
  if (mark === 0 && head.length >= 4 && head.readUInt16BE(2) === 0xfeff) return "utf32";

  // Without a mark: every second byte is zero, and only those, through the first characters.
  const inspected = Math.min(head.length & ~1, 256);
  if (inspected < 8) return undefined;
  let evenZeros = 0;
  let oddZeros = 0;
  for (let at = 0; at < inspected; at += 2) {
    if (head[at] === 0) evenZeros++;
    if (head[at + 1] === 0) oddZeros++;
  }
  const most = (inspected / 2) * 0.9;
  if (evenZeros === 0 && oddZeros >= most) return "utf16-le";
  if (oddZeros === 0 && evenZeros >= most) return "utf16-be";
  return undefined;
}

/** Nothing when the characters are not those of a text: marks of two bytes are met in other files, too. */
function wideText(sample: Sample, encoding: "utf16-le" | "utf16-be"): Text | undefined {
  const ends = [sample.head, sample.tail].map((bytes) => {
    const pairs = Buffer.from(bytes.subarray(0, bytes.length & ~1));
    return encoding === "utf16-be" ? pairs.swap16() : pairs;
  });
  const start = ends[0]?.toString("utf16le", 0, 2 * START_CHARACTERS).replace(/^\ufeff/, "") ?? "";
  for (let at = 0; at < start.length; at++) {
    const unit = start.charCodeAt(at);
    const unpaired = unit >= 0xdc00 && unit <= 0xdfff && !isHighSurrogate(start.charCodeAt(at - 1));
    if ((unit < 256 && IN_TEXT[unit] === 0) || unit >= 0xfffe || unpaired) return undefined;
  }
  const last = ends[1];
  const end = last?.toString("utf16le", Math.max(0, last.length - 2 * END_CHARACTERS)) ?? "";
  return { encoding, start, end, whole: sample.sizeBytes <= 2 * START_CHARACTERS };
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
