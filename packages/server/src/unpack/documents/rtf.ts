import type { Blob, Range } from "../blob.ts";
import { hexValue, type MemberWriter, memberWriter, type Text, textOf } from "../encodings/text.ts";
import { type Opener, type Outcome, type Place, type Tools, whole } from "../opener.ts";

/**
 * RTF documents: objects, pictures and fields in it are written as hexadecimal numbers, or as they are behind `\bin`. What
 * authors of malware strew in between (groups, control words, blanks, escapes) means nothing to Word, nor to us.
 */
export const rtf: Opener = { kind: "rtf", find, open };

/** Word wants the beginning of the file, others look a little further. */
const HEAD_BYTES = 1024;

function find(content: Blob): readonly Place[] {
  const start = content.bytes(0, HEAD_BYTES).indexOf("{\\rt", 0, "latin1");
  return start < 0 ? [] : [{ start, end: content.size, sure: true }];
}

const DATA_WORDS = new Set(["objdata", "datafield", "pict", "themedata", "datastore", "fontfile", "fontemb"]);
/** Fewer bytes are nobody's file. */
const RUN_DIGITS = 32;

function open(container: Blob, { sink, budget }: Tools): Outcome {
  const text = textOf(container, budget);
  const writer = memberWriter(sink);
  let count = 0;
  forEachRun(text, (run) => {
    for (const reading of readingsOf(text, run)) {
      count += 1;
      const name = `object ${count}`;
      const decode = (target: (byte: number) => void): void => void decodeRun(text, { ...run, ...reading }, target);
      writer.begin(name);
      decode(writer.byte);
      writer.end();
      for (const file of embeddedFiles(decode))
        writeStretch(writer, decode, { name: `${name}/${file.name}`, ...file.range });
    }
  });
  return { kind: "opened", covered: whole(container) };
}

function writeStretch(
  writer: MemberWriter,
  decode: (target: (byte: number) => void) => void,
  stretch: Range & { name: string },
): void {
  let at = 0;
  writer.begin(stretch.name);
  decode((byte) => {
    if (at >= stretch.start && at < stretch.end) writer.byte(byte);
    at += 1;
  });
  writer.end();
}

/** How the digits of a run are read: programs disagree on what is strewn in between. */
interface Manner {
  /** Digits in groups that programs may ignore (`{\*\…}`) count as well. */
  ignorable: boolean;
  /** An escape (`\'41`) takes the half byte before it away. */
  escapesReset: boolean;
}

function readingsOf(text: Text, run: Range): Manner[] {
  const plain: Manner = { ignorable: false, escapesReset: false };
  const seen = decodeRun(text, { ...run, ...plain }, () => {});
  if (seen.digits + seen.ignored < RUN_DIGITS) return [];
  const readings = [plain];
  if (seen.ignored > 0) readings.push({ ...plain, ignorable: true });
  if (seen.escapes > 0) readings.push({ ...plain, escapesReset: true });
  return readings;
}

/**
 * Calls `found` for what stands behind each word that data follows, up to the end of its group. Such a word within the
 * data of another begins data of its own: those are read one after the other, each up to the next, besides the outermost as
 * a whole; so that nothing is read more than a few times, however deep they are nested.
 */
function forEachRun(text: Text, found: (run: Range) => void): void {
  let depth = 0;
  let outer: { start: number; depth: number } | undefined;
  let inner = -1;
  function endInner(at: number): void {
    if (inner >= 0) found({ start: inner, end: at });
    inner = -1;
  }
  for (let at = 0; at < text.size; ) {
    const byte = text.byte(at);
    if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      endInner(at);
      if (outer && depth < outer.depth) {
        found({ start: outer.start, end: at });
        outer = undefined;
      }
    } else if (byte === BACKSLASH) {
      const word = readWord(text, at, text.size);
      at = word.end;
      if (!DATA_WORDS.has(word.name)) continue;
      endInner(at);
      if (outer) inner = at;
      else outer = { start: at, depth };
      continue;
    }
    at += 1;
  }
  endInner(text.size);
  if (outer) found({ start: outer.start, end: text.size });
}

const OPEN = 123;
const CLOSE = 125;
const BACKSLASH = 92;
const STAR = 42;
const LONGEST_WORD = 40;
const isLetter = (byte: number): boolean => (byte >= 97 && byte <= 122) || (byte >= 65 && byte <= 90);
const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57;

interface Word {
  name: string;
  /** Behind the word, its number and one blank, and behind the bytes of `\bin`. */
  end: number;
  /** Where the bytes of `\bin` begin. */
  bytes: number;
}

/** A control word or sign: `\objdata`, `\bin12 …`, `\'41`, `\*`. */
function readWord(text: Text, start: number, limit: number): Word {
  let at = start + 1;
  if (!isLetter(text.byte(at))) {
    const end = text.byte(at) === 39 ? at + 3 : at + 1;
    return { name: "", end: Math.min(end, limit), bytes: -1 };
  }
  while (at < limit && isLetter(text.byte(at))) at += 1;
  const name = at - start <= LONGEST_WORD ? text.string(start + 1, at).toLowerCase() : "";
  let number = 0;
  if (text.byte(at) === 45) at += 1;
  for (; at < limit && isDigit(text.byte(at)); at += 1) number = Math.min(number * 10 + text.byte(at) - 48, limit);
  if (text.byte(at) === 32) at += 1;
  if (name !== "bin") return { name, end: Math.min(at, limit), bytes: -1 };
  return { name, end: Math.min(at + number, limit), bytes: Math.min(at, limit) };
}

interface Seen {
  digits: number;
  /** Digits in groups that may be ignored. */
  ignored: number;
  escapes: number;
}

/** Everything but digits and the bytes of `\bin` means nothing. */
function decodeRun(text: Text, run: Range & Manner, write: (byte: number) => void): Seen {
  const seen: Seen = { digits: 0, ignored: 0, escapes: 0 };
  let depth = 0;
  /** The depth of the outermost group that may be ignored, while in it. */
  let ignoredFrom = Number.POSITIVE_INFINITY;
  let half = -1;
  for (let at = run.start; at < run.end; ) {
    const byte = text.byte(at);
    if (byte === BACKSLASH) {
      const sign = text.byte(at + 1);
      if (sign === STAR && depth > 0) ignoredFrom = Math.min(ignoredFrom, depth);
      if (sign === 39) {
        seen.escapes += 1;
        if (run.escapesReset) half = -1;
      }
      const word = readWord(text, at, run.end);
      if (word.bytes >= 0) {
        seen.digits += 2 * (word.end - word.bytes);
        for (let raw = word.bytes; raw < word.end; raw += 1) write(text.byte(raw));
      }
      at = Math.max(word.end, at + 1);
      continue;
    }
    at += 1;
    if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      if (depth < ignoredFrom) ignoredFrom = Number.POSITIVE_INFINITY;
    } else if (hexValue(byte) < 16) {
      const ignored = depth >= ignoredFrom;
      if (ignored) seen.ignored += 1;
      else seen.digits += 1;
      if (ignored && !run.ignorable) continue;
      if (half < 0) half = hexValue(byte);
      else {
        write(half * 16 + hexValue(byte));
        half = -1;
      }
    }
  }
  return seen;
}

/** The header of an embedded object and that of a package in it are no longer than this. */
const OBJECT_HEAD_BYTES = 16 * 1024;
const MAGICS: readonly { name: string; bytes: Buffer }[] = [
  { name: "compound file", bytes: Buffer.from("d0cf11e0a1b11ae1", "hex") },
  { name: "zip", bytes: Buffer.from("504b0304", "hex") },
];

/**
 * The files in an object as OLE 1 has it: what the object holds (its native data), the file in it if it is a package, and
 * what begins like a compound file or a zip. `decode` gives the bytes of the object, as often as it is asked.
 */
function embeddedFiles(decode: (target: (byte: number) => void) => void): { name: string; range: Range }[] {
  const head = Buffer.alloc(OBJECT_HEAD_BYTES);
  const found = new Map<string, number>();
  const matched = MAGICS.map(() => 0);
  let size = 0;
  decode((byte) => {
    if (size < OBJECT_HEAD_BYTES) head[size] = byte;
    for (const [index, magic] of MAGICS.entries()) {
      const at = matched[index] ?? 0;
      // None of these repeats its first byte, so a mismatch begins anew at this byte.
      const next = byte === magic.bytes[at] ? at + 1 : byte === magic.bytes[0] ? 1 : 0;
      matched[index] = next === magic.bytes.length ? 0 : next;
      if (next === magic.bytes.length && !found.has(magic.name)) found.set(magic.name, size - next + 1);
    }
    size += 1;
  });
  const files: { name: string; range: Range }[] = [];
  const known = new Set<number>([0]);
  function add(name: string, start: number, end: number): void {
    if (start >= size || end <= start || known.has(start)) return;
    known.add(start);
    files.push({ name, range: { start, end: Math.min(end, size) } });
  }
  const native = nativeData(head.subarray(0, Math.min(size, OBJECT_HEAD_BYTES)));
  if (native) {
    add("native data", native.start, native.end);
    const file = packagedFile(head.subarray(native.start, Math.min(size, OBJECT_HEAD_BYTES)));
    if (file) add("packaged file", native.start + file.start, native.start + file.end);
  }
  for (const [name, start] of found) add(name, start, size);
  return files;
}

/** Reads numbers and strings one after the other; nothing is read beyond the end. */
function reader(bytes: Buffer): {
  number(size: 2 | 4): number;
  skip(count: number): void;
  string(): void;
  at(): number;
} {
  let at = 0;
  return {
    number(size) {
      const value = at + size <= bytes.length ? bytes.readUIntLE(at, size) : 0;
      at += size;
      return value;
    },
    skip(count) {
      at += count;
    },
    string() {
      const end = bytes.indexOf(0, at);
      at = end < 0 ? bytes.length : end + 1;
    },
    at: () => at,
  };
}

/** Version, format (2: embedded), class, topic, item, each with its length before it; then the size of the data. */
function nativeData(head: Buffer): Range | undefined {
  const fields = reader(head);
  fields.skip(4);
  if (fields.number(4) !== 2) return undefined;
  for (const _ of ["class", "topic", "item"]) fields.skip(fields.number(4));
  const size = fields.number(4);
  return fields.at() > head.length || size === 0 ? undefined : { start: fields.at(), end: fields.at() + size };
}

/** Two bytes of type, label, path, two numbers, the path of a temporary copy with its length; then the size of the file. */
function packagedFile(native: Buffer): Range | undefined {
  const fields = reader(native);
  if (fields.number(2) !== 2) return undefined;
  fields.string();
  fields.string();
  fields.skip(4);
  fields.skip(fields.number(4));
  const size = fields.number(4);
  return fields.at() > native.length || size === 0 ? undefined : { start: fields.at(), end: fields.at() + size };
}
