import type { Blob, Range } from "../blob.ts";
import {
  copyRange,
  isLineBreak,
  lineEnd,
  type MemberWriter,
  marking,
  memberWriter,
  nextLine,
  type Text,
  textOf,
} from "../encodings/text.ts";
import { textRegions } from "../encodings/text-regions.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { type Opener, type Outcome, type Place, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { type Body, writeBody } from "./mail-bodies.ts";
import { fieldNameEnd, type Headers, readHeaders } from "./mail-headers.ts";

/**
 * Mails, folders of mails, saved web pages and form data: everything that consists of parts with fields before them. No mail
 * is damaged: whatever some mail program would make a file of comes out, in each reading if programs disagree.
 */
export const mail: Opener = { kind: "mail", find, open };

const HEAD_BYTES = 64 * 1024;

function find(content: Blob): readonly Place[] {
  if (content.size < 16) return [];
  const head = headOf(content).toString("latin1", 0, HEAD_BYTES);
  const found = beginsWithFields(head) || (hasTextAbove(content, HEAD_BYTES) && hasFieldsOfMail(head));
  return found ? [{ start: 0, end: content.size, sure: true }] : [];
}

/** Whether a content is a mail by its first lines, whatever stands behind them: without a stretch of text in it. */
export function beginsAsMail(content: Blob): boolean {
  return content.size >= 16 && beginsWithFields(headOf(content).toString("latin1", 0, HEAD_BYTES));
}

function hasFieldsOfMail(head: string): boolean {
  const lower = head.toLowerCase();
  return NAMES.some((name) => lower.includes(name)) && (MAIL_ONLY.test(head) || PART.test(head));
}

/** Short ones, below which there is no stretch of text to speak of, may be mails too. */
function hasTextAbove(content: Blob, end: number): boolean {
  return content.size < SHORT_MAIL_BYTES || textRegions(content).some(({ start }) => start < end);
}

export const SHORT_MAIL_BYTES = 512;
/** One of these stands in all that the expressions below know. */
const NAMES: readonly string[] = ["content-", "mime-version"];
const MAIL_ONLY =
  /^(?:content-transfer-encoding|mime-version)[ \t]{0,99}:|^content-type[ \t]{0,99}:\s{0,99}multipart\//im;
const PART = /^--[^\r\n]{1,200}(?:\r\n|\r|\n)content-[a-z-]{1,30}[ \t]{0,99}:/im;
const FIELD = /^([!-9;-~]{1,76})[ \t]{0,99}:/;
const OF_MAIL = new Set([
  "received",
  "return-path",
  "message-id",
  "delivered-to",
  "content-type",
  "content-disposition",
]);
const OF_LETTERS = new Set(["from", "to", "subject", "date", "sender", "reply-to", "cc"]);

/** Fields up to the first empty line, one of which only mails have or two that letters have; or fields without end. */
function beginsWithFields(head: string): boolean {
  let fields = 0;
  let letters = 0;
  const cut = head.length === HEAD_BYTES;
  const lines = /([^\r\n]*)(\r\n|\r|\n|$)/y;
  lines.lastIndex = head.match(/^[\s\ufeff\u00ef\u00bb\u00bf]+/)?.[0].length ?? 0;
  for (let more = true; more; ) {
    const [, line = "", lineBreak = ""] = lines.exec(head) ?? [];
    more = lineBreak !== "";
    // The last line may be cut.
    const last = cut && !more;
    if (line === "") return last && fields > 0;
    if (line.startsWith(" ") || line.startsWith("\t") || (fields === 0 && line.startsWith("From "))) continue;
    const name = FIELD.exec(line)?.[1]?.toLowerCase();
    if (name === undefined) return last && fields > 0;
    fields += 1;
    if (OF_MAIL.has(name)) return true;
    if (OF_LETTERS.has(name)) letters += 1;
    if (letters === 2) return true;
  }
  return cut && fields > 0;
}

function open(container: Blob, { sink, budget }: Tools): Outcome {
  const decoded: Range[] = [];
  const target = { content: container, text: textOf(container, budget), writer: memberWriter(sink), decoded, budget };
  const messages = writeMessages(target);
  writeParts(target, messages === 0);
  return { kind: "opened", covered: whole(container), decoded };
}

interface Target {
  content: Blob;
  text: Text;
  writer: MemberWriter;
  decoded: Range[];
  budget: Tools["budget"];
}

const FROM = Buffer.from("\nFrom ");

/** The mails of a folder, each as a member: who opens the folder reads each by itself. Gives how many there are. */
function writeMessages({ content, text, writer }: Target): number {
  const { size } = content;
  const behindLine = (at: number): number => nextLine(text, lineEnd(text, at, size), size);
  let start = 0;
  let count = 0;
  for (let found = text.find(FROM, 0, size); found >= 0; found = text.find(FROM, found + 1, size)) {
    if (!isField(text, behindLine(found + 1))) continue;
    writeMessage(found + 1);
    start = found + 1;
  }
  if (count > 0) writeMessage(size);
  return count;

  function writeMessage(end: number): void {
    const first = text.string(start, start + 5) === "From " ? behindLine(start) : start;
    if (first >= end) return;
    count += 1;
    writer.begin(`message ${count}`);
    copyRange(content, { start: first, end }, writer.bytes);
    writer.end();
  }
}

function isField(text: Text, at: number): boolean {
  return fieldNameEnd(text, at, lineEnd(text, at, Math.min(text.size, at + FIELD_NAME_BYTES))) > 0;
}

/** A name with blanks behind it that is longer is none. */
const FIELD_NAME_BYTES = 256;

interface Part {
  headers: Headers;
  start: number;
  /** By the book, as the mail is that it stands in. */
  tidy: boolean;
  /** How deep the boundaries are that it declares, or -1. */
  level: number;
  /** The first line in it that looks like a boundary and is none that was declared. */
  maybeEnd: number | undefined;
  /** The first line in it that begins as a declared boundary does: RFC 2046 compares no more than that. */
  prefixEnd: number | undefined;
}

const DASHES = Buffer.from("--");
const DASH = marking("-");
const LEVELS_AT_MOST = 64;
/** Directly in one another. */
const MESSAGES_AT_MOST = 4;
const BOUNDARY_LINE_BYTES = 1100;
/** What clamd knows a mail by; one that begins otherwise it may take for a text. */
const KNOWN_BEGINNING =
  /^(?:From |(?:From|To|Date|Subject|Received|Return-[Pp]ath|Delivered-To|Envelope-to|Delivery-date|Message-I[Dd]): )[^\r\n]*\r?\n/;

function isKnownMail({ content, text }: Target): boolean {
  if (looksLikeAnother(content, "mail") || text.find(UUENCODED, 0, text.size) >= 0) return false;
  return KNOWN_BEGINNING.test(text.string(0, Math.min(text.size, FIELD_LINE_BYTES)));
}

/** Behind this clamd looks for the end of a uuencoded file, parts or not. */
const UUENCODED = Buffer.from("\nbegin ");
const FIELD_LINE_BYTES = 1024;
const PREAMBLE_BYTES = 64 * 1024;
/** Of the fields of a part: what other programs surely read. */
const TIDY_HEADER_BYTES = 8192;

/**
 * One pass over the lines that begin with two hyphens. Such a line ends a part if a boundary of that name was declared. If it
 * was not, but fields follow, another part begins that some programs would find: it is read up to the next line of that
 * name (`guessed`) or, while such a one is open, up to the next line of the kind (`brief`). What was declared goes on.
 */
function writeParts(target: Target, guess: boolean): void {
  const { text } = target;
  const { size } = text;
  /** Boundaries in force, with how deep they are. */
  const declared = new Map<string, number>();
  let depth = 0;
  let count = 0;
  let topTidy = true;
  const first = behindSummaries(text, firstField(text));
  let main = first < 0 ? undefined : beginPart(first, { tidy: first === 0 && isKnownMail(target), declares: true });
  topTidy = main?.tidy ?? false;
  /** The outermost part that some read as one and others as several. */
  let undecided: Part | undefined;
  let guessed: { part: Part; name: string } | undefined;
  let brief: Part | undefined;

  let line = nextDashes(main ? scanFrom(main) : 0);
  while (line < size) {
    const end = lineEnd(text, line, size);
    const behind = nextLine(text, end, size);
    const name = end - line < BOUNDARY_LINE_BYTES ? text.string(line + 2, end).trimEnd() : undefined;
    const level = name === undefined ? undefined : levelOf(name);
    let from = behind;
    if (brief && name !== undefined) {
      endPart(brief, line);
      brief = undefined;
    }
    if (guessed && (level !== undefined || name === guessed.name || name === `${guessed.name}--`)) {
      endPart(guessed.part, line);
      guessed = undefined;
    }
    if (level !== undefined) {
      endMain(line, level);
      const closes = !declared.has(name ?? "");
      forgetBelow(level);
      if (!closes || isField(text, behind)) main = beginPart(behind, { tidy: !closes, declares: true });
      if (main) from = scanFrom(main);
    } else if (name !== undefined) {
      if (main && name !== "") main.maybeEnd ??= line;
      if (main && beginsAsDeclared(name)) main.prefixEnd ??= beforeLineBreak(text, line);
      if (guess && isField(text, behind)) {
        const part = beginPart(behind, { tidy: false, declares: false });
        if (guessed) brief = part;
        else guessed = { part, name };
        from = part.start;
      }
    }
    line = nextDashes(Math.max(from, line + 1));
  }
  if (brief) endPart(brief, size);
  if (guessed) endPart(guessed.part, size);
  if (main) main.tidy = false;
  endMain(size, -1);

  /** Where the next line begins that starts with two hyphens. */
  function nextDashes(from: number): number {
    for (let at = from; ; ) {
      const found = text.find(DASHES, at, size);
      if (found < 0) return size;
      if (found === 0 || isLineBreak(text.byte(found - 1))) return found;
      at = text.skip(DASH, found, size);
    }
  }

  function levelOf(name: string): number | undefined {
    return declared.get(name) ?? (name.endsWith("--") ? declared.get(name.slice(0, -2).trimEnd()) : undefined);
  }

  function beginsAsDeclared(name: string): boolean {
    target.budget.addWork(declared.size);
    for (const boundary of declared.keys()) if (boundary !== "" && name.startsWith(boundary)) return true;
    return false;
  }

  function forgetBelow(level: number): void {
    if (depth === level + 1) return;
    for (const [boundary, its] of declared) if (its > level) declared.delete(boundary);
    depth = level + 1;
  }

  /** Something may have been hidden among lines that are no fields. */
  function scanFrom(part: Part): number {
    return part.headers.brokenAt ?? part.start;
  }

  function isBoundary(start: number, end: number): boolean {
    if (text.byte(start) !== 45 || text.byte(start + 1) !== 45 || end - start >= BOUNDARY_LINE_BYTES) return false;
    return levelOf(text.string(start + 2, end).trimEnd()) !== undefined;
  }

  function beginPart(start: number, { tidy, declares }: { tidy: boolean; declares: boolean }): Part {
    const isDashes = (at: number): boolean => text.byte(at) === 45 && text.byte(at + 1) === 45;
    const headers = readHeaders(text, { start, end: size }, declares ? isBoundary : isDashes);
    let level = -1;
    if (declares && headers.boundaries.size > 0 && depth < LEVELS_AT_MOST) {
      level = depth;
      for (const boundary of headers.boundaries) if (!declared.has(boundary)) declared.set(boundary, depth);
      depth += 1;
    }
    const short = headers.bodyStart - start < TIDY_HEADER_BYTES;
    const oddParts = headers.boundaries.size > 0 && (headers.encodings.size > 0 || headers.single);
    const wellFormed = tidy && topTidy && headers.tidy && headers.fields > 0 && short && !oddParts;
    // Whoever reads one part otherwise may read all behind it otherwise.
    topTidy = wellFormed;
    return { headers, start: headers.bodyStart, tidy: wellFormed, level, maybeEnd: undefined, prefixEnd: undefined };
  }

  function endMain(at: number, level: number): void {
    if (undecided && level < undecided.level) {
      endPart(undecided, at);
      undecided = undefined;
    }
    const part = main;
    main = undefined;
    if (!part) return;
    // What stands before the first of its parts is for programs that know nothing of parts.
    if (part.level < 0 || part.level !== level) endPart(part, at);
    else if (part.headers.single || part.headers.encodings.size > 0) undecided ??= { ...part, tidy: false };
    // For clamd fields may stand there too.
    if (part.level === level && /[:\0]/.test(text.string(part.start, Math.min(at, part.start + PREAMBLE_BYTES))))
      topTidy = false;
  }

  /** A mail in a mail is a member and opened as such; this is for one with fields that nobody would know a mail by. */
  function writeMessageBody(body: Omit<Body, "tidy">, layers: number): void {
    const inner = readHeaders(text, body, () => false);
    const message = { ...body, encodings: inner.encodings, start: inner.bodyStart };
    if (inner.boundaries.size > 0 || inner.bodyStart >= body.end) return;
    writeBody({ ...message, tidy: false }, target);
    if (inner.message && layers > 1) writeMessageBody(message, layers - 1);
  }

  function endPart(part: Part, at: number): void {
    const { encodings, brokenAt } = part.headers;
    const end = at >= size ? size : beforeLineBreak(text, at);
    count += 1;
    const { maybeEnd, prefixEnd } = part;
    const undeclared = declared.size === 0;
    // The last line break may be the one before a boundary that is missing.
    const lastBreak = at >= size && !undeclared && !encodings.has("base64") ? beforeLineBreak(text, size) : undefined;
    const present = (ends: readonly (number | undefined)[]): number[] => ends.filter((each) => each !== undefined);
    const maybeEnds = present([maybeEnd, prefixEnd, lastBreak]);
    const plainEnds = present([undeclared ? maybeEnd : undefined, prefixEnd, lastBreak]);
    const body = { name: `part ${count}`, encodings, maybeEnds, plainEnds, end };
    if (end >= part.start) writeBody({ ...body, start: part.start, tidy: part.tidy }, target);
    if (part.headers.message)
      writeMessageBody({ ...body, start: part.start, maybeEnds: [], plainEnds: [] }, MESSAGES_AT_MOST);
    if (brokenAt !== undefined && brokenAt < end) writeBody({ ...body, start: brokenAt, tidy: false }, target);
  }
}

/**
 * Where the last block of fields begins that stands directly behind so many others that nobody wrote a mail: each would be one
 * more mail in a mail. A block counts that says nothing about how its body is to be read. Gives `first` for all else.
 */
function behindSummaries(text: Text, first: number): number {
  const hasDashes =
    first >= 0 && ["\n--", "\r--"].some((dashes) => text.find(Buffer.from(dashes), first, text.size) >= 0);
  let start = first;
  for (let blocks = 0; start >= 0; blocks += 1) {
    const { encodings, boundaries, bodyStart } = readHeaders(text, { start, end: text.size }, () => false);
    const next = text.skip(BLANK, bodyStart, text.size);
    const isPlain = [...encodings].every((encoding) => encoding === "none") && (boundaries.size === 0 || !hasDashes);
    if (!isPlain || next >= text.size || !isField(text, next)) return blocks > SUMMARIES_LEAST ? start : first;
    start = next;
  }
  return first;
}

/** No mail has so many mails in it, one directly in the other. */
const SUMMARIES_LEAST = 8;

/** The line break before a boundary belongs to the boundary. */
function beforeLineBreak(text: Text, line: number): number {
  const last = text.byte(line - 1);
  if (!isLineBreak(last)) return line;
  return last === 10 && text.byte(line - 2) === 13 ? line - 2 : line - 1;
}

const BLANK = marking(" \t\r\n\ufeff\u00ef\u00bb\u00bf\u00fe\u00ff");
const KNOWN_FIELD =
  /^(?:content-[a-z-]{1,30}|mime-version|received|return-path|message-id|delivered-to|from|to|subject|date)[ \t]{0,99}:/im;

/** Where the fields of the mail begin: behind empty lines, a folder's `From ` line and junk; or -1 if a part comes first. */
function firstField(text: Text): number {
  const start = text.skip(BLANK, 0, text.size);
  const from =
    text.string(start, start + 5) === "From " ? nextLine(text, lineEnd(text, start, text.size), text.size) : start;
  if (isField(text, from)) return from;
  const head = text.string(0, HEAD_BYTES);
  const field = KNOWN_FIELD.exec(head)?.index;
  const part = PART.exec(head)?.index;
  if (part !== undefined && (field === undefined || part < field)) return -1;
  return field ?? from;
}
