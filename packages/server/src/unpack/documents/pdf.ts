import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import type { Opener, Outcome, Range, Tools } from "../opener.ts";
import { type Filter, isFlate } from "./pdf-filters.ts";
import { byteReader, type Entries, parseObject, type Value } from "./pdf-objects.ts";
import {
  chainsOf,
  PARSING,
  type PdfDocument,
  type PdfStream,
  remember,
  takeOrphan,
  takeStream,
  takeString,
} from "./pdf-streams.ts";

/**
 * Every stream of a PDF, as any reader might decode it.
 *
 * Readers find objects by a table at the end, or by searching if that is broken; in both cases they start reading behind the
 * word `obj`. So do we, at each such word, wherever it stands: in a comment, a string or a stream. The table is of no
 * interest. One pass over the document; what is read again, because things overlap, is charged to the budget.
 */
export const pdf: Opener = {
  kind: "pdf",
  find(content) {
    // Readers accept the mark anywhere in the first kilobyte.
    const head = content.bytes(0, 1024 + MARK.length).toString("latin1");
    return head.includes(MARK) || POSTSCRIPT_MARK.test(head) ? [{ start: 0, end: content.size, sure: true }] : [];
  },
  open: openPdf,
};

const MARK = "%PDF-";
const POSTSCRIPT_MARK = /%!PS-Adobe-\d\.\d PDF-/;
/** Streams whose dictionary refers to other objects wait for those; so many may. */
const WAITING_AT_MOST = 100_000;

function openPdf(content: Blob, tools: Tools): Outcome {
  const { budget } = tools;
  const coverage = coverageOf(content, budget);
  const document: PdfDocument = {
    content,
    tools,
    at: byteReader(content),
    objects: new Map(),
    nextEnd: wordFinder(content, "endstream", budget),
    cover: coverage.cover,
    tooLarge: false,
    isTooMuch(range) {
      const tooOften = isTooOften(range);
      document.tooLarge ||= tooOften;
      return tooOften;
    },
  };
  const isTooOften = repetition(content.size);
  const isOrdinary =
    /^%PDF-\d\.\d[\r\n]/.test(content.bytes(0, 16).toString("latin1")) && !looksLikeAnother(content, "pdf");
  /** Streams that an object has led to, by where they stand, with the readings that have been taken. */
  const reached = new Map<number, Set<string>>();
  const waiting: { stream: PdfStream; chain?: Filter[]; seen: Set<number> }[] = [];
  let encrypted = false;
  let lastEnd = 0;

  const parse = (start: number): ReturnType<typeof parseObject> => {
    const object = parseObject(document.at, start, {
      string: (range, hex) => takeString(document, { content, range, hex }),
    });
    budget.addWork((object.end - start) * PARSING);
    return object;
  };

  function take(stream: PdfStream, isLast: boolean): void {
    const chains = chainsOf(document, stream.entries);
    const taken = reached.get(stream.at) ?? new Set();
    reached.set(stream.at, taken);
    if (!chains && !isLast && waiting.length < WAITING_AT_MOST) {
      waiting.push({ stream, seen: new Set() });
      return;
    }
    for (const chain of chains ?? [[]]) {
      const lengths = stream.entries.get("Length") ?? [];
      const reading = JSON.stringify([chain, lengths]);
      if (taken.has(reading)) continue;
      taken.add(reading);
      const seen = new Set<number>();
      takeStream(document, stream, chain, seen);
      // Compressed data says itself where it ends.
      const isOpen = lengths.some(({ kind }) => kind === "reference") && !isFlate(chain[0]);
      if (isOpen && !isLast && waiting.length < WAITING_AT_MOST) waiting.push({ stream, chain, seen });
    }
  }

  function takeObject(word: number): void {
    const { number, start } = objectNumber(document.at, word);
    const isOverlapping = start < coverage.to();
    const { value, streams, end, plain } = parse(word + "obj".length);
    if (plain) coverage.cover(start, end);
    if (value && streams.length === 0 && number !== undefined && isReferredTo(value)) {
      remember(document.objects, number, value);
    }
    for (const stream of streams) {
      encrypted ||= isXref(stream.entries) && isEncrypted(stream.entries);
      take({ ...stream, ordinaryFrom: isOrdinary && plain && !isOverlapping ? start : undefined }, false);
    }
  }

  for (const { word, at } of wordsOf(content, budget)) {
    if (word === "obj") takeObject(at);
    else if (word === "trailer") {
      const { value, end, plain } = parse(at + word.length);
      if (plain) coverage.cover(at, end);
      if (value?.kind === "dictionary") encrypted ||= isEncrypted(value.entries);
    } else if (word === "%%EOF") lastEnd = at + word.length;
    else {
      if (!reached.has(at)) takeOrphan(document, at);
      reached.delete(at);
    }
  }
  for (const { stream, chain, seen } of waiting) {
    if (!chain) take(stream, true);
    else takeStream(document, stream, chain, seen);
  }
  if (encrypted) return { kind: "encrypted" };
  if (document.tooLarge) return { kind: "too-large" };
  return { kind: "opened", covered: coverage.ranges(lastEnd) };
}

/**
 * Streams without an end reach to that of the next one, or of the document: thousands of beginnings would each give all that
 * follows. Some bytes belong to a few readings of one stream; more than that is a trap.
 */
function repetition(size: number): (range: Range) => boolean {
  let [to, again] = [0, 0];
  return ({ start, end }) => {
    again += Math.max(0, Math.min(end, to) - start);
    to = Math.max(to, end);
    return again > AGAIN_BYTES + AGAIN_TIMES * size;
  };
}

const AGAIN_BYTES = 1024 * 1024;
const AGAIN_TIMES = 4;

/** What `/Length`, `/Filter` and `/DecodeParms` may refer to. */
function isReferredTo(value: Value): boolean {
  if (value.kind === "dictionary") return ["Predictor", "Columns", "EarlyChange"].some((key) => value.entries.has(key));
  return value.kind === "number" || value.kind === "name" || value.kind === "list";
}

function isXref(entries: Entries): boolean {
  return (entries.get("Type") ?? []).some((type) => type.kind === "name" && type.name === "XRef");
}

/** A trailer, or the table that takes its place, names the encryption. The word alone says nothing. */
function isEncrypted(entries: Entries): boolean {
  const given = entries.get("Encrypt") ?? [];
  return (
    given.some(({ kind }) => kind === "reference" || kind === "dictionary") &&
    (entries.has("Root") || entries.has("Size"))
  );
}

/** `12 0 obj`: the number, and where it begins. */
function objectNumber(at: (position: number) => number, word: number): { number: number | undefined; start: number } {
  const from = Math.max(0, word - 32);
  let text = "";
  for (let position = from; position < word; position += 1) text += String.fromCharCode(at(position));
  const written = /(\d{1,10})[\0\t\n\f\r ]{1,8}\d{1,5}[\0\t\n\f\r ]{0,8}$/.exec(text);
  return written ? { number: Number(written[1]), start: from + written.index } : { number: undefined, start: word };
}

const WINDOW_BYTES = 1024 * 1024;
const WORDS = ["obj", "stream", "trailer", "%%EOF"] as const;
const LONGEST_WORD = 7;

/** All places where one of the words stands, in order. `endobj` and `endstream` are other words. */
function* wordsOf(content: Blob, budget: Budget): Generator<{ word: (typeof WORDS)[number]; at: number }> {
  for (let start = 0; start < content.size; start += WINDOW_BYTES) {
    // Three bytes more in front, to see what stands before a word, and some behind for a word across the end.
    const before = Math.min(3, start);
    const window = content.bytes(start - before, before + WINDOW_BYTES + LONGEST_WORD);
    budget.addWork(Math.max(0, window.length - before - LONGEST_WORD));
    const next = WORDS.map((word) => window.indexOf(word, before));
    for (;;) {
      let first = -1;
      for (let i = 0; i < next.length; i += 1) {
        const position = next[i] ?? -1;
        if (position >= 0 && (first < 0 || position < (next[first] ?? 0))) first = i;
      }
      const word = WORDS[first];
      const position = next[first] ?? -1;
      if (word === undefined || position >= before + WINDOW_BYTES) break;
      next[first] = window.indexOf(word, position + 1);
      if (word === "obj" && !mayPrecedeObject(window[position - 1])) continue;
      if (word === "stream" && window.toString("latin1", position - 3, position) === "end") continue;
      yield { word, at: start - before + position };
    }
  }
}

/** A blank, a digit, or the end of a comment. */
function mayPrecedeObject(byte: number | undefined): boolean {
  return byte !== undefined && (byte <= 0x20 || (byte >= 0x30 && byte <= 0x39));
}

/** Finds the next place of a word from any position on. What was read last is kept: the next question is about it most of the time. */
function wordFinder(content: Blob, word: string, budget: Budget): (position: number) => number {
  let from = 0;
  let found = -1;
  let window: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) };
  const windowEnd = (): number => window.start + window.bytes.length;
  return (position) => {
    if (found >= 0 && position >= from && position <= found) return found;
    from = position;
    found = content.size;
    for (let start = position; start + word.length <= content.size; start = windowEnd() - word.length + 1) {
      if (start < window.start || start + word.length > windowEnd())
        window = { start, bytes: content.bytes(start, WINDOW_BYTES) };
      const at = window.bytes.indexOf(word, start - window.start);
      budget.addWork((at < 0 ? windowEnd() : window.start + at) - start);
      if (at >= 0) {
        found = window.start + at;
        break;
      }
    }
    return found;
  };
}

interface Coverage {
  cover(start: number, end: number): void;
  to(): number;
  ranges(lastEnd: number): Range[];
}

const GAPS_AT_MOST = 256;
/** The line of foreign letters behind the first line has four; compressed data of any use has more. */
const FOREIGN_AT_MOST = 8;

/**
 * Which bytes are accounted for. Objects come in order, so that what is passed over between two of them is seen at once: text
 * is structure (tables, comments, words), anything else is left over. Behind the last `%%EOF` everything is left over.
 */
function coverageOf(content: Blob, budget: Budget): Coverage {
  const gaps: Range[] = [];
  let to = 0;

  function cover(start: number, end: number): void {
    if (start > to && !isText(content, { start: to, end: start }, budget)) addGap(to, start);
    to = Math.max(to, end);
  }

  function addGap(start: number, end: number): void {
    const last = gaps.at(-1);
    if (last && gaps.length >= GAPS_AT_MOST) last.end = end;
    else gaps.push({ start, end });
  }

  return {
    cover,
    to: () => to,
    ranges(lastEnd) {
      const end = lastEnd > 0 ? Math.max(to, lastEnd) : content.size;
      cover(end, end);
      if (end < content.size && !isBlank(content, end)) addGap(end, content.size);
      const edges = [0, ...gaps.flatMap((gap) => [gap.start, gap.end]), content.size];
      return edges
        .flatMap((start, index) => (index % 2 === 0 ? [{ start, end: edges[index + 1] ?? start }] : []))
        .filter((range) => range.end > range.start);
    },
  };
}

function isText(content: Blob, range: Range, budget: Budget): boolean {
  let foreign = 0;
  for (let start = range.start; start < range.end; start += WINDOW_BYTES) {
    const window = content.bytes(start, Math.min(WINDOW_BYTES, range.end - start));
    budget.addWork(window.length);
    for (let i = 0; i < window.length; i += 1) {
      const byte = window[i] ?? 0;
      if (byte > 0x7e || (byte < 0x20 && (byte < 0x09 || byte > 0x0d))) foreign += 1;
      if (foreign > FOREIGN_AT_MOST) return false;
    }
  }
  return true;
}

/** Line ends and padding at the end of the file, up to a sector of it. */
function isBlank(content: Blob, start: number): boolean {
  return content.size - start <= 4096 && content.bytes(start, content.size - start).every((byte) => byte <= 0x20);
}
