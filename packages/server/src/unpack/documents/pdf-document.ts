import type { Blob, Range } from "../blob.ts";
import { emit, type Tools } from "../opener.ts";
import { decodeHex, type Objects } from "./pdf-filters.ts";
import { decodeString, PARSING } from "./pdf-objects.ts";

/** What is known about a document while its streams are decoded. */
export interface PdfDocument {
  content: Blob;
  tools: Pick<Tools, "sink" | "budget">;
  at(position: number): number;
  objects: Objects;
  /** Where the next `endstream` stands, or the end of the document. */
  nextEnd(position: number): number;
  /** These bytes came out as members. */
  cover(start: number, end: number): void;
  /** Something in it has not come out, because it is too large. */
  markTooLarge(): void;
  /** The document ends within a stream. */
  markCut(): void;
  /** A stream that is said to be compressed holds nothing that is. */
  markOpaque(): void;
  /** Whether so many bytes have come out more than once that these must not. */
  isTooMuch(range: Range): boolean;
}

/** Strings up to this size are structure: names, dates, titles. */
const LONG_STRING = 64;

/** Scripts are kept in strings too. */
export function takeString(document: PdfDocument, written: WrittenString): void {
  const text = stringText(document, written);
  if (text) emitString(document, written.range.start, text);
}

export interface WrittenString {
  content: Blob;
  range: Range;
  hex: boolean;
}

/** What a string says, if it is long enough to say anything. */
export function stringText(document: PdfDocument, { content, range, hex }: WrittenString): Buffer | undefined {
  if (range.end - range.start <= LONG_STRING) return undefined;
  const { budget } = document.tools;
  if (range.end - range.start > budget.limits.memberInMemoryBytes) {
    document.markTooLarge();
    return undefined;
  }
  budget.addWork((range.end - range.start) * PARSING);
  const written = content.bytes(range.start, range.end - range.start);
  return hex ? decodeHex(written).bytes : decodeString(written);
}

export function emitString({ tools: { sink } }: PdfDocument, at: number, text: Buffer): void {
  if (text.length <= LONG_STRING) return;
  const name = `string-${at}`;
  emit(sink, { name, content: text });
  if (text[0] === 0xfe && text[1] === 0xff) {
    const even = Buffer.from(text.subarray(2, text.length & ~1));
    emit(sink, { name, content: Buffer.from(even.swap16().toString("utf16le")) });
  }
}
