import type { Blob, Range } from "../blob.ts";
import { emit } from "../opener.ts";
import { decodeHex } from "./pdf-filters.ts";
import { decodeString, PARSING } from "./pdf-objects.ts";
import type { PdfDocument } from "./pdf-streams.ts";

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
