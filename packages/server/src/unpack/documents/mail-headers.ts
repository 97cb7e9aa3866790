import { isSpace, lineEnd, marking, nextLine, type Text } from "../encodings/text.ts";

/** What is known of a part before its body. Of fields that come twice both values count: programs take either. */
export interface Headers {
  /** Behind the empty line, or where the fields ended otherwise. */
  bodyStart: number;
  /** A line that is no field: some programs pass over it, for others the body begins here. */
  brokenAt: number | undefined;
  encodings: Set<Encoding>;
  /** What may separate the parts of the body; none if it has no parts. */
  boundaries: Set<string>;
  /** Whether a program may take the body as one, boundaries or not. */
  single: boolean;
  /** The body is a mail. */
  message: boolean;
  /** Written by the book: nothing in it that programs read differently. */
  tidy: boolean;
  fields: number;
}

export type Encoding = "none" | "base64" | "quoted-printable" | "uu";

/** Every sign that a name may have: all but the colon and blanks. */
const NAME = marking(String.fromCharCode(...Array.from({ length: 94 }, (_, index) => index + 33)).replace(":", ""));
const BLANK = marking(" \t");
/** Of a field's value; a boundary stands near its beginning even where somebody made it long. */
const VALUE_BYTES = 1024 * 1024;

/** Where the name of a field ends that begins at a position, or -1 if none does. */
export function fieldNameEnd(text: Text, start: number, end: number): number {
  const behind = text.skip(NAME, start, end);
  return behind > start && text.byte(text.skip(BLANK, behind, end)) === 58 ? behind : -1;
}

/** Reads the fields of a mail or a part. `ends`: whether a line begins the next part, which may come too early. */
export function readHeaders(
  text: Text,
  range: { start: number; end: number },
  ends: (start: number, end: number) => boolean,
): Headers {
  const headers: Headers = {
    bodyStart: range.end,
    brokenAt: undefined,
    encodings: new Set(),
    boundaries: new Set(),
    single: false,
    message: false,
    tidy: true,
    fields: 0,
  };
  let typed = false;
  let lastBlank: number | undefined;
  let at = range.start;
  while (at < range.end) {
    const end = lineEnd(text, at, range.end);
    const behind = nextLine(text, end, range.end);
    if (end === at) {
      headers.bodyStart = behind;
      return headers;
    }
    if (ends(at, end)) {
      headers.bodyStart = lastBlank ?? at;
      return headers;
    }
    const nameEnd = fieldNameEnd(text, at, end);
    if (nameEnd < 0) {
      headers.brokenAt ??= at;
      headers.tidy = false;
      if (text.skip(BLANK, at, end) === end) lastBlank = behind;
      at = behind;
      continue;
    }
    const valueEnd = foldedEnd(text, end, { end: range.end, blank: noteBreak });
    headers.fields += 1;
    headers.tidy &&= isPlainField(text.string(at, Math.min(valueEnd, at + PLAIN_FIELD_BYTES)));
    if (nameEnd - at <= LONGEST_NAME)
      readField({ name: [at, nameEnd], value: [nameEnd, valueEnd], folded: valueEnd > end });
    at = nextLine(text, valueEnd, range.end);
  }
  if (lastBlank !== undefined) headers.bodyStart = lastBlank;
  return headers;

  /** A line of blanks only continues the field, or ends them all: the first one may do that, or the last one. */
  function noteBreak(behind: number): void {
    headers.brokenAt ??= behind;
    lastBlank = behind;
    headers.tidy = false;
  }

  function readField(field: { name: [number, number]; value: [number, number]; folded: boolean }): void {
    const name = text.string(...field.name).toLowerCase();
    const raw = text.string(field.value[0], Math.min(field.value[1], field.value[0] + VALUE_BYTES));
    if (name === "content-disposition" && !PLAIN_DISPOSITION.test(raw)) headers.tidy = false;
    if (name !== "content-transfer-encoding" && name !== "content-type") return;
    const value = raw.slice(raw.indexOf(":") + 1);
    if (name === "content-type") {
      if (typed || !PLAIN_TYPE.test(raw)) headers.tidy = false;
      typed = true;
      if (!/^\s*multipart\//i.test(withoutComments(value))) headers.single = true;
      if (/message\//i.test(value)) headers.message = true;
      if (/multipart/i.test(value)) for (const boundary of boundariesIn(value)) headers.boundaries.add(boundary);
      return;
    }
    if (headers.encodings.size > 0 || field.folded || !/^: [A-Za-z0-9-]+$/.test(raw)) headers.tidy = false;
    for (const encoding of encodingsIn(value)) headers.encodings.add(encoding);
  }
}

/** As nearly all programs write it. No mails in mails, and no pieces of one: what others make of these differs. */
const PLAIN_TYPE =
  /^: (?!message\/)[a-z]{1,40}\/[a-z0-9.+-]{1,99}(?:;(?:\r?\n)?[ \t]{1,8}[a-z-]{1,40}=(?:"[^"\\\r\n()]{1,99}"|[a-z0-9._-]{1,99})){0,8}$/i;
const PLAIN_DISPOSITION = /^: (?:attachment|inline)(?:;|$)/i;
const PLAIN_FIELD_BYTES = 8192;

/** A quote that is not closed takes the next fields with it. */
function isPlainField(field: string): boolean {
  return /^[\x20-\x7e\r\n\t]*$/.test(field) && field.split('"').length % 2 === 1;
}

const LONGEST_NAME = "content-transfer-encoding".length;

/** The end of a field's last line: those that begin with a blank continue it. */
function foldedEnd(text: Text, firstEnd: number, { end, blank }: { end: number; blank(behind: number): void }): number {
  let last = firstEnd;
  for (;;) {
    const start = nextLine(text, last, end);
    if (start >= end || start === last || !isSpace(text.byte(start))) return last;
    last = lineEnd(text, start, end);
    if (text.skip(BLANK, start, last) === last) blank(nextLine(text, last, end));
  }
}

/** Comments may stand anywhere, names may be quoted or cut by a fold, and what nobody knows is tried. */
function encodingsIn(value: string): Encoding[] {
  const word = /[^\s;,"']+/.exec(withoutComments(value).replaceAll(/["']/g, ""))?.[0]?.toLowerCase() ?? "";
  const known = KNOWN.get(word);
  if (known) return [known];
  const letters = value.replaceAll(/[^A-Za-z0-9]+/g, "").toLowerCase();
  const found: Encoding[] = ["none"];
  if (letters.includes("quoted") || letters.includes("printable")) found.push("quoted-printable");
  if (letters.includes("uu")) found.push("uu");
  if (found.length === 1 || letters.includes("64")) found.push("base64");
  return found;
}

const KNOWN: ReadonlyMap<string, Encoding> = new Map([
  ["7bit", "none"],
  ["8bit", "none"],
  ["binary", "none"],
  ["base64", "base64"],
  ["quoted-printable", "quoted-printable"],
  ["x-uuencode", "uu"],
  ["x-uue", "uu"],
  ["uuencode", "uu"],
  ["uue", "uu"],
]);

/** Comments are in parentheses, also within one another; not in quotes. */
function withoutComments(value: string): string {
  let kept = "";
  let depth = 0;
  let quoted = false;
  let from = 0;
  for (let at = 0; at < value.length; at += 1) {
    const sign = value[at];
    if (sign === "\\") at += 1;
    else if (sign === '"' && depth === 0) quoted = !quoted;
    else if (sign === "(" && !quoted) {
      if (depth === 0) kept += value.slice(from, at);
      depth += 1;
    } else if (sign === ")" && depth > 0) {
      depth -= 1;
      from = at + 1;
    }
  }
  return depth > 0 ? kept : kept + value.slice(from);
}

/** What a content type says that parts are separated by, in all readings of it. */
function boundariesIn(value: string): Set<string> {
  const found = new Set<string>();
  const unfolded = value.replaceAll(/[\r\n]+/g, "");
  for (const text of new Set([unfolded, withoutComments(unfolded)])) {
    const pieces: string[] = [];
    for (const [, number, extended, quoted, plain] of text.matchAll(BOUNDARY)) {
      if (found.size >= BOUNDARIES_AT_MOST) break;
      const piece = plain === undefined ? (quoted ?? "").replaceAll(/\\(.)/g, "$1") : plain;
      const decoded = extended ? percentDecoded(piece) : piece;
      if (number === undefined) add(decoded);
      else if (Number(number) < 100) pieces[Number(number)] = decoded;
    }
    if (pieces.length > 0) add(pieces.join(""));
  }
  return found;

  function add(boundary: string): void {
    found.add(boundary.trimEnd());
    // Without quotes a boundary ends at the first blank for some, at the semicolon for others.
    found.add(/^[^\s]*/.exec(boundary)?.[0] ?? "");
  }
}

const BOUNDARIES_AT_MOST = 16;
const BOUNDARY = /boundary(?:\*([0-9]{1,3}))?(\*)?[ \t]?=[ \t]{0,99}(?:"((?:[^"\\]|\\.){0,999})"?|([^;"]{1,999}))/gi;

/** `utf-8'en'name%20with` */
function percentDecoded(value: string): string {
  const text = /^[^']{0,40}'[^']{0,40}'(.*)$/.exec(value)?.[1] ?? value;
  return text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
