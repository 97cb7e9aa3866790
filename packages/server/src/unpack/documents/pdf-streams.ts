import { type Blob, memoryBlob, type Range } from "../blob.ts";
import { emit } from "../opener.ts";
import type { ObjectNumber } from "./pdf-crypt.ts";
import { type PdfDocument, takeString } from "./pdf-document.ts";
import {
  decodeFilter,
  type Filter,
  isDecodable,
  isFlate,
  type Objects,
  resolve,
  undoPredictor,
} from "./pdf-filters.ts";
import { type InflateOptions, inflateBytes, inflateLeniently, looksCompressed } from "./pdf-inflate.ts";
import { byteReader, type Entries, isObjectStream, parseObject, type Value } from "./pdf-objects.ts";

export interface PdfStream {
  /** Where the word `stream` stands. */
  at: number;
  entries: Entries;
  /** The object that it belongs to. */
  id: ObjectNumber | undefined;
  /** Where its object begins, if nothing about that is odd: only then another reader is sure to find it too. */
  ordinaryFrom: number | undefined;
}

const PIECE_BYTES = 1024 * 1024;
const READINGS_AT_MOST = 4;
/** Less than this that comes out of bytes that merely look compressed is chance. */
const SNIFFED_BYTES = 16;
/** An empty stream, and one of a few bytes, may be damaged. */
const OPAQUE_BYTES = 32;

/** Takes one stream out by one reading of its dictionary. Ends in `seen` have come out already. */
export function takeStream(document: PdfDocument, stream: PdfStream, chain: Filter[], seen: Set<number>): void {
  const start = dataStart(document.at, stream.at);
  // Without a line end some read on behind the blanks, and others right behind the word.
  const behind = start === stream.at + WORD ? behindBlanks(document.at, start) : start;
  if (behind > start) takeFrom(document, stream, { start: behind, chain, seen: new Set() });
  takeFrom(document, stream, { start, chain, seen });
}

function takeFrom(
  document: PdfDocument,
  stream: PdfStream,
  { start, chain, seen }: { start: number; chain: Filter[]; seen: Set<number> },
): void {
  const { ends, likelyEnd, isCut } = endsOf(document, stream, start);
  const [first, ...rest] = chain;
  if (first && isFlate(first)) {
    if (seen.size === 0) {
      const taken = takeCompressed(document, { stream, start, likelyEnd, ends, first, rest });
      if (taken === "part" && isCut) document.markCut();
      if (taken === "nothing" && likelyEnd - start > OPAQUE_BYTES) document.markOpaque();
    }
    for (const end of ends) seen.add(end);
    return;
  }
  if (isCut) document.markCut();
  if (seen.size === 0) sniff(document, stream.at, { start, end: likelyEnd });
  for (const end of ends) {
    if (seen.has(end)) continue;
    seen.add(end);
    takeCoded(document, { at: stream.at, entries: stream.entries, range: { start, end }, chain });
  }
}

/** Takes out what a stream was before it was encrypted, and says whether it can have been that. */
export function takeDecrypted(document: PdfDocument, stream: PdfStream, { bytes, chain }: Plain): boolean {
  const content = memoryBlob(bytes);
  const inner: PdfDocument = {
    ...document,
    content,
    at: byteReader(content),
    nextEnd: () => content.size,
    cover() {},
    isTooMuch: () => false,
  };
  const { at, entries } = stream;
  const range = { start: 0, end: bytes.length };
  const [first, ...rest] = chain;
  if (first && isFlate(first)) {
    return (
      takeCompressed(inner, { stream, start: 0, likelyEnd: range.end, ends: [range.end], first, rest }) !== "nothing"
    );
  }
  sniff(inner, at, range);
  takeCoded(inner, { at, entries, range, chain });
  return true;
}

interface Plain {
  bytes: Buffer;
  chain: readonly Filter[];
}

/** A word that no object leads to. Someone may still take it for a stream, so its data decides. */
export function takeOrphan(document: PdfDocument, at: number): void {
  const start = dataStart(document.at, at);
  const end = document.nextEnd(start);
  if (sniff(document, at, { start, end }) || start === at + WORD) return;
  takeRaw(document, at, { start, end: withoutLineEnd(document, start, end) });
}

const WORD = "stream".length;

/** Behind the word stands a line end, if the writer kept to the rules; some write blanks before it, or nothing at all. */
export function dataStart(at: PdfDocument["at"], word: number): number {
  const position = behindBlanks(at, word + WORD);
  if (at(position) === 0x0d) return position + (at(position + 1) === 0x0a ? 2 : 1);
  return at(position) === 0x0a ? position + 1 : word + WORD;
}

function behindBlanks(at: PdfDocument["at"], start: number): number {
  let position = start;
  while (position < start + BLANKS_AT_MOST && BLANKS.has(at(position))) position += 1;
  return position;
}

const BLANKS_AT_MOST = 64;
/** Zero, tab, vertical tab, form feed and space: qpdf passes over all of them. */
const BLANKS = new Set([0x00, 0x09, 0x0b, 0x0c, 0x20]);

/** The stated length, if it is in the document, and the next `endstream`: both are right for some reader. */
export function endsOf(
  document: PdfDocument,
  { entries }: PdfStream,
  start: number,
): { ends: number[]; likelyEnd: number; isCut: boolean } {
  const word = document.nextEnd(start);
  const trimmed = withoutLineEnd(document, start, word);
  const stated = (entries.get("Length") ?? [])
    .flatMap((value) => resolve(document.objects, value))
    .flatMap((value) => (value.kind === "number" && value.value >= 0 ? [start + Math.floor(value.value)] : []))
    .filter((end) => end <= document.content.size)
    .slice(0, READINGS_AT_MOST);
  const confirmed = stated.find((end) => isAtEnd(document.content, end));
  const ends = new Set(stated);
  if (!stated.some((end) => end >= trimmed && end <= word)) ends.add(trimmed);
  return { ends: [...ends], likelyEnd: confirmed ?? word, isCut: stated.length === 0 && word >= document.content.size };
}

export function isAtEnd(content: Blob, end: number): boolean {
  return /^[\0\t\n\v\f\r ]{0,16}endstream/.test(content.bytes(end, 32).toString("latin1"));
}

/** By itself: between the beginning of a stream and its end there may be pages, and thousands of streams share one end. */
function withoutLineEnd({ content }: PdfDocument, start: number, end: number): number {
  const last = content.bytes(Math.max(start, end - 2), Math.max(0, Math.min(2, end - start))).toString("latin1");
  if (last === "\r\n") return end - 2;
  return last.endsWith("\n") || last.endsWith("\r") ? end - 1 : end;
}

function inflateOptions({ tools: { budget } }: PdfDocument): InflateOptions {
  return { limit: budget.limits.memberInMemoryBytes, charge: (bytes) => budget.addWork(bytes) };
}

interface Compressed {
  stream: PdfStream;
  start: number;
  likelyEnd: number;
  ends: readonly number[];
  first: Filter;
  rest: readonly Filter[];
}

/** Returns how much of it is compressed data. */
function takeCompressed(
  document: PdfDocument,
  { stream, start, likelyEnd, ends, first, rest }: Compressed,
): "whole" | "part" | "nothing" {
  const result = inflateLeniently(document.content, { start, likelyEnd }, inflateOptions(document));
  if (result.tooLarge) {
    document.markTooLarge();
    document.cover(start, likelyEnd);
    return "part";
  }
  if (!result.whole) for (const end of ends) takeRaw(document, stream.at, { start, end });
  else document.cover(start, start + result.consumed);
  const isPart = looksCompressed(document.content.bytes(start, 2));
  if (result.bytes.length === 0) return result.whole ? "whole" : isPart ? "part" : "nothing";
  const ordinary =
    result.byTheBook === true &&
    rest.length === 0 &&
    isByTheBook(document, stream, { start, end: start + result.consumed });
  runChain(document, stream, {
    bytes: undoPredictor(result.bytes, first),
    chain: rest,
    ...(ordinary ? { way: "pdf/flate" } : {}),
  });
  return result.whole ? "whole" : isPart ? "part" : "nothing";
}

/** One plain filter, a short dictionary, the right length, `endstream` right behind: every reader reads it so. */
const PLAIN_KEYS: readonly string[] = ["Length", "Length1", "Length2", "Length3", "Filter"];

function isByTheBook(document: PdfDocument, stream: PdfStream, { start, end }: Range): boolean {
  const { content, at } = document;
  const { entries, ordinaryFrom } = stream;
  if (ordinaryFrom === undefined || stream.at - ordinaryFrom >= 1024) return false;
  const [filter, ...filters] = entries.get("Filter") ?? [];
  const [length, ...lengths] = entries.get("Length") ?? [];
  const lineEnd = start - stream.at - WORD;
  const from = Math.max(0, ordinaryFrom - "endobj    ".length);
  return (
    filters.length + lengths.length === 0 &&
    filter?.kind === "name" &&
    filter.name === "FlateDecode" &&
    length?.kind === "number" &&
    length.value === end - start &&
    // Pictures, for one, clamd does not take out: only what its canary is like is by the book.
    [...entries.keys()].every((key) => PLAIN_KEYS.includes(key)) &&
    at(start - 1) === 0x0a &&
    (lineEnd === 1 || (lineEnd === 2 && at(start - 2) === 0x0d)) &&
    /^(?:\r\n|\n|\r)?endstream\s{1,4}endobj\s/.test(content.bytes(end, 32).toString("latin1")) &&
    document.nextEnd(start) >= end &&
    // An object before it that does not end takes this one with it. No names with escapes, no strings or comments, no
    // dictionary in the dictionary.
    /endobj\s{1,4}\d+ \d+ obj\s*<<[^<>%#()]*>>\s*$/.test(content.bytes(from, stream.at - from).toString("latin1"))
  );
}

/** Streams whose packing does not say where it ends, pictures, and those that are not packed. */
function takeCoded(
  document: PdfDocument,
  { at, entries, range, chain }: { at: number; entries: Entries; range: Range; chain: readonly Filter[] },
): void {
  const { budget } = document.tools;
  const [first, ...rest] = chain;
  const fits = range.end - range.start <= budget.limits.memberInMemoryBytes;
  if (first && document.isTooMuch(range)) return;
  if (!first || !isDecodable(first) || !fits) {
    // What is not decoded may have any size.
    if (first && isDecodable(first)) document.markTooLarge();
    takeRaw(document, at, range, first ? undefined : entries);
    return;
  }
  const packed = document.content.bytes(range.start, range.end - range.start);
  budget.addWork(packed.length);
  const result = decodeFilter(packed, first, inflateOptions(document));
  if (result?.tooLarge) document.markTooLarge();
  if (!result?.whole || result.bytes.length === 0) takeRaw(document, at, range);
  else document.cover(range.start, range.start + result.consumed);
  if (result && !result.tooLarge) runChain(document, { at, entries }, { bytes: result.bytes, chain: rest });
}

/** The remaining steps, as far as they go. */
function runChain(
  document: PdfDocument,
  { at, entries }: Pick<PdfStream, "at" | "entries">,
  { bytes, chain, way }: { bytes: Buffer; chain: readonly Filter[]; way?: string },
): void {
  const { sink, budget } = document.tools;
  const name = `stream-${at}`;
  let current = bytes;
  for (const filter of chain) {
    budget.addWork(current.length);
    const result = decodeFilter(current, filter, inflateOptions(document));
    if (result?.tooLarge) document.markTooLarge();
    if (!result || result.tooLarge) break;
    if (!result.whole || result.bytes.length === 0) emit(sink, { name, content: current });
    current = result.bytes;
  }
  if (current.length === 0) return;
  emit(sink, { name, content: current, ...(way === undefined ? {} : { way }) });
  if (looksCompressed(current)) takeSniffed(document, at, inflateBytes(current, inflateOptions(document)).bytes);
  if (isObjectStream(entries)) takeObjects(document, entries, current);
}

function takeRaw(document: PdfDocument, at: number, { start, end }: Range, entries?: Entries | undefined): void {
  document.cover(start, end);
  if (end <= start || document.isTooMuch({ start, end })) return;
  const { sink, budget } = document.tools;
  sink.begin(`stream-${at}`);
  for (let position = start; position < end; position += PIECE_BYTES) {
    budget.check();
    sink.write(document.content.bytes(position, Math.min(PIECE_BYTES, end - position)));
  }
  sink.end();
  const fits = end - start <= budget.limits.memberInMemoryBytes;
  if (entries && fits && isObjectStream(entries)) {
    takeObjects(document, entries, document.content.bytes(start, end - start));
  }
}

/** Compressed data in a stream of which the dictionary does not say so. */
function sniff(document: PdfDocument, at: number, { start, end }: Range): boolean {
  const head = document.content.bytes(start, 18);
  let blanks = 0;
  while (blanks < 16 && (head[blanks] ?? 1) <= 0x20) blanks += 1;
  if (!looksCompressed(head.subarray(blanks))) return false;
  const range = { start: start + blanks, likelyEnd: Math.max(end, start + blanks) };
  const result = inflateLeniently(document.content, range, inflateOptions(document));
  if (result.tooLarge) document.markTooLarge();
  if (result.whole) document.cover(start, start + blanks + result.consumed);
  return takeSniffed(document, at, result.bytes) && result.whole;
}

function takeSniffed(document: PdfDocument, at: number, content: Buffer): boolean {
  if (content.length < SNIFFED_BYTES) return false;
  emit(document.tools.sink, { name: `stream-${at}-inflated`, content });
  return true;
}

/** Objects kept in a stream: numbers that other streams refer to, and strings. */
function takeObjects(document: PdfDocument, entries: Entries, content: Buffer): void {
  document.tools.budget.addWork(content.length);
  const [first] = entries.get("First") ?? [];
  const start = first?.kind === "number" ? first.value : 0;
  const numbers = content
    .toString("latin1", 0, Math.min(content.length, start, OBJECT_TABLE_BYTES))
    .matchAll(/(\d+)\s+(\d+)/g);
  for (const [, number, offset] of numbers) {
    const position = start + Number(offset);
    const written = content.toString("latin1", position, Math.min(content.length, position + 16));
    const value = /^\s*(\d+)\s*(?![\d\s])/.exec(`${written} .`)?.[1];
    if (value !== undefined) remember(document.objects, Number(number), { kind: "number", value: Number(value) });
  }
  const blob = memoryBlob(content);
  parseObject(byteReader(blob), start, {
    sequence: true,
    string: (range, hex) => takeString(document, { content: blob, range, hex }),
  });
}

const REVISIONS_AT_MOST = 4;
const OBJECTS_AT_MOST = 200_000;
const OBJECT_TABLE_BYTES = 4 * 1024 * 1024;

/** The last few revisions of an object: which one counts depends on tables that may be broken on purpose. */
export function remember(objects: Objects, number: number, value: Value): void {
  const all = objects.get(number);
  if (all) objects.set(number, [...all, value].slice(-REVISIONS_AT_MOST));
  else if (objects.size < OBJECTS_AT_MOST) objects.set(number, [value]);
}
