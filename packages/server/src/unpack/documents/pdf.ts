import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import type { Opener, Outcome, Tools } from "../opener.ts";
import { headOf, signaturesIn } from "../signature-search.ts";
import type { ObjectNumber } from "./pdf-crypt.ts";
import { type EncryptedDocument, takeAnyStream, takeAnyString } from "./pdf-encrypted.ts";
import { chainsOf, type Filter, isFlate } from "./pdf-filters.ts";
import { byteReader, PARSING, parseObject, type Value } from "./pdf-objects.ts";
import { type PdfStream, remember, takeOrphan } from "./pdf-streams.ts";
import { type Encryption, encryptionOf, isXref, mentionsEncryption, NOT_ENCRYPTED, namedBy } from "./pdf-trailers.ts";
import { objectNumber, wordFinder, wordsOf } from "./pdf-words.ts";

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
    const sure = head.includes(MARK) || POSTSCRIPT_MARK.test(head);
    return sure || hasObjects(content) ? [{ start: 0, end: content.size, sure }] : [];
  },
  open: openPdf,
};

const MARK = "%PDF-";
/** How far behind the mark, where it does not stand in the front, the first object begins. */
const REACH = 4096;
const MARKS_AT_MOST = 16;
const OBJECT = /(?:^|[\r\n])[ \t]*\d{1,10}[ \t-\r]{1,8}\d{1,5}[ \t-\r]{1,8}obj\b/;

/** Most readers go on without the mark, or find it behind anything, and look for the objects. */
function hasObjects(content: Blob): boolean {
  const head = headOf(content);
  if (head.includes("obj") && OBJECT.test(head.toString("latin1"))) return true;
  const marks = (signaturesIn(content).get("pdf") ?? []).slice(0, MARKS_AT_MOST);
  return marks.some((mark) => OBJECT.test(content.bytes(mark, REACH).toString("latin1")));
}

const POSTSCRIPT_MARK = /%!PS-Adobe-\d\.\d PDF-/;
/** Streams whose dictionary refers to other objects wait for those; so many may. */
const WAITING_AT_MOST = 100_000;

function openPdf(content: Blob, tools: Tools): Outcome {
  const mentioned = mentionsEncryption(content, tools.budget);
  const known = mentioned ? encryptionOf(content, tools.budget) : NOT_ENCRYPTED;
  let [read, { keys }] = [readPdf(content, tools, known), known];
  if (read.encrypted && !mentioned) {
    // Written with escapes, so that only reading it has shown it.
    const hidden = encryptionOf(content, tools.budget);
    if (hidden.keys.length === 0) return hidden.locked ? { kind: "encrypted" } : read.outcome;
    [read, keys] = [readPdf(content, tools, hidden), hidden.keys];
  }
  const { outcome } = read;
  return keys.length > 0 && outcome.kind === "opened" ? { ...outcome, decrypted: true } : outcome;
}

/** One pass. `encrypted`: some trailer says so. */
function readPdf(
  content: Blob,
  tools: Tools,
  { keys, locked, generations }: Encryption,
): { outcome: Outcome; encrypted: boolean } {
  const { budget } = tools;
  const coverage = coverageOf(content, budget);
  const isTooOften = repetition(content.size);
  let [tooLarge, undecrypted, encrypted] = [false, locked, false];
  let [cut, opaque, hasTrailer] = [false, false, false];
  const markTooLarge = (): void => {
    tooLarge = true;
  };
  const document: EncryptedDocument = {
    content,
    tools,
    at: byteReader(content),
    objects: new Map(),
    nextEnd: wordFinder(content, "endstream", budget),
    cover: coverage.cover,
    markTooLarge,
    markCut() {
      cut = true;
    },
    markOpaque() {
      opaque = true;
    },
    isTooMuch(range) {
      const tooOften = isTooOften(range);
      if (tooOften) markTooLarge();
      return tooOften;
    },
    keys,
    generations,
    markUndecrypted() {
      undecrypted = true;
    },
  };
  const isOrdinary =
    /^%PDF-\d\.\d[\r\n]/.test(content.bytes(0, 16).toString("latin1")) && !looksLikeAnother(content, "pdf");
  /** Streams that an object has led to, by where they stand, with the readings that have been taken. */
  const reached = new Map<number, Set<string>>();
  const waiting: { stream: PdfStream; chain?: Filter[]; seen: Set<number> }[] = [];
  let lastEnd = 0;

  const parse = (start: number, id?: ObjectNumber): ReturnType<typeof parseObject> => {
    const object = parseObject(document.at, start, {
      string: (range, hex) => takeAnyString(document, { content, range, hex }, id),
    });
    budget.addWork((object.end - start) * PARSING);
    return object;
  };

  function take(stream: PdfStream, isLast: boolean): void {
    const chains = chainsOf(document.objects, stream.entries);
    const taken = reached.get(stream.at) ?? new Set();
    reached.set(stream.at, taken);
    if (!chains && !isLast && waiting.length < WAITING_AT_MOST) {
      waiting.push({ stream, seen: new Set() });
      return;
    }
    for (const chain of chains ?? [[]]) {
      const lengths = stream.entries.get("Length") ?? [];
      const reading = JSON.stringify([chain, lengths, stream.id]);
      if (taken.has(reading)) continue;
      taken.add(reading);
      const seen = new Set<number>();
      takeAnyStream(document, stream, { chain, seen });
      // Compressed data says itself where it ends.
      const isOpen = lengths.some(({ kind }) => kind === "reference") && !isFlate(chain[0]);
      if (isOpen && !isLast && waiting.length < WAITING_AT_MOST) waiting.push({ stream, chain, seen });
    }
  }

  function takeObject(word: number): void {
    const { id, start } = objectNumber(document.at, word);
    const isOverlapping = start < coverage.to();
    const { value, streams, end, plain } = parse(word + "obj".length, id);
    if (plain) coverage.cover(start, end);
    if (value && streams.length === 0 && id && isReferredTo(value)) remember(document.objects, id.number, value);
    for (const stream of streams) {
      hasTrailer ||= isXref(stream.entries);
      encrypted ||= isXref(stream.entries) && namedBy(stream.entries).length > 0;
      take({ ...stream, id, ordinaryFrom: isOrdinary && plain && !isOverlapping ? start : undefined }, false);
    }
  }

  for (const { word, at } of wordsOf(content, budget)) {
    if (word === "obj") takeObject(at);
    else if (word === "trailer") {
      hasTrailer = true;
      const { value, end, plain } = parse(at + word.length);
      if (plain) coverage.cover(at, end);
      if (value?.kind === "dictionary") encrypted ||= namedBy(value.entries).length > 0;
    } else if (word === "%%EOF") lastEnd = at + word.length;
    else {
      if (!reached.has(at)) takeOrphan(document, at);
      reached.delete(at);
    }
  }
  for (const { stream, chain, seen } of waiting) {
    if (!chain) take(stream, true);
    else takeAnyStream(document, stream, { chain, seen });
  }
  const ended = (outcome: Outcome): { outcome: Outcome; encrypted: boolean } => ({ outcome, encrypted });
  if (undecrypted) return ended({ kind: "encrypted" });
  if (tooLarge) return ended({ kind: "too-large" });
  // Without its end nobody knows whether what makes no sense is encrypted.
  if (cut || (opaque && !hasTrailer && lastEnd === 0)) return ended({ kind: "unreadable" });
  return ended({ kind: "opened", covered: coverage.ranges(lastEnd) });
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

interface Coverage {
  cover(start: number, end: number): void;
  to(): number;
  ranges(lastEnd: number): Range[];
}

const WINDOW_BYTES = 1024 * 1024;
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
