import type { Blob, Range } from "../blob.ts";

/** As much of a PDF's values as it takes to decode its streams. */
export type Value =
  | { kind: "number"; value: number }
  /** `plain`: written as it is, without `#xx`. */
  | { kind: "name"; name: string; plain: boolean }
  | { kind: "reference"; object: number }
  | { kind: "list"; items: Value[] }
  | { kind: "dictionary"; entries: Entries }
  /** Where it stands, without its brackets. */
  | { kind: "string"; range: Range; hex: boolean }
  | { kind: "other" };

/** The keys that matter here, each with all the values that were given to it: readers differ in which one they take. */
export type Entries = Map<string, Value[]>;

export interface ParsedObject {
  /** The dictionary, or the first value if there is none. */
  value?: Value;
  /** Where the word `stream` stands behind the dictionary, or inside it, which some readers forgive. */
  streams: { at: number; entries: Entries }[];
  end: number;
  /** Nothing but structure: short words, names and comments. */
  plain: boolean;
}

export interface ParseOptions {
  /** Told about every string, without its brackets. */
  string(range: Range, hex: boolean): void;
  /** The content of an object stream: values one after the other, where no word ends anything. */
  sequence?: boolean;
  /** Not only the keys that matter to streams. */
  allKeys?: boolean;
}

const KEYS = new Set([
  ...["Filter", "F", "DecodeParms", "DP", "Length", "Type", "N", "First", "Encrypt", "Root", "Size", "W"],
  ...["Predictor", "Colors", "BitsPerComponent", "Columns", "EarlyChange"],
]);

/** Taking words apart is so much slower than searching for some, or than zlib. */
export const PARSING = 4;

const VALUES_PER_KEY = 4;
const ITEMS_AT_MOST = 64;
const DEPTH_AT_MOST = 200;
const STREAMS_AT_MOST = 4;
const WORD_KEPT = 128;
/** A longer word, name or comment is not structure but something that was put there. */
const STRUCTURE_WORD = 256;
const FOREIGN_BYTES = 16;

const REGULAR = 0;
const BLANK = 1;
const DELIMITER = 2;
const CLASSES = new Uint8Array(256);
// The vertical tab is a blank to qpdf, and to nobody else.
for (const byte of [0, 9, 10, 11, 12, 13, 32]) CLASSES[byte] = BLANK;
for (const character of "()<>[]{}/%") CLASSES[character.charCodeAt(0)] = DELIMITER;

/** One byte after the other, read in pieces; -1 behind the end. */
export function byteReader(content: Blob): (position: number) => number {
  let page = content.bytes(0, content.inMemory ? content.size : PAGE_BYTES);
  let start = 0;
  return (position) => {
    const byte = page[position - start];
    if (byte !== undefined) return byte;
    if (position < 0 || position >= content.size) return -1;
    start = position;
    page = content.bytes(start, PAGE_BYTES);
    return page[0] ?? -1;
  };
}

const PAGE_BYTES = 64 * 1024;

/** A list or dictionary that has begun. */
interface Frame {
  entries: Entries | undefined;
  key: string | undefined;
  /** Values since the key, or the items of a list. */
  values: Value[];
}

/**
 * Reads what stands behind the word `obj`, up to the word that ends it. Never fails: where brackets do not match it goes on
 * as readers do. Every position is read once.
 */
export function parseObject(at: (position: number) => number, start: number, options: ParseOptions): ParsedObject {
  const frames: Frame[] = [{ entries: undefined, key: undefined, values: [] }];
  const streams: ParsedObject["streams"] = [];
  let tooDeep = 0;
  let dictionary: Entries | undefined;
  /** A dictionary inside with a filter: the stream's own, if one bracket too many was opened before it. */
  let stray: Entries | undefined;
  let plain = true;
  let foreign = 0;
  let position = start;

  const finish = (frame: Frame): void => finishEntry(frame, options.allKeys ?? false);

  function add(value: Value): void {
    const frame = frames.at(-1);
    if (!frame || tooDeep > 0) return;
    if (frame.entries && value.kind === "name" && (frame.key === undefined || frame.values.length > 0)) {
      finish(frame);
      frame.key = value.name;
      return;
    }
    if (frame.values.length < ITEMS_AT_MOST) frame.values.push(value);
  }

  function open(isDictionary: boolean): void {
    if (frames.length > DEPTH_AT_MOST) tooDeep += 1;
    else frames.push({ entries: isDictionary ? new Map() : undefined, key: undefined, values: [] });
  }

  function close(isDictionary: boolean): void {
    if (tooDeep > 0) {
      tooDeep -= 1;
      return;
    }
    // A dictionary's end also ends the list that was left open in it.
    const inside = frames.at(-1);
    if (isDictionary && frames.length > 2 && !inside?.entries && frames.at(-2)?.entries) close(false);
    if (frames.length === 1) return;
    const frame = frames.pop();
    if (!frame) return;
    finish(frame);
    if (frame.entries && frames.length === 1) dictionary = frame.entries;
    else if (frame.entries?.has("Filter")) stray = frame.entries;
    add(frame.entries ? { kind: "dictionary", entries: frame.entries } : { kind: "list", items: frame.values });
  }

  /** Skips a string that begins behind its bracket, and says where it ends. */
  function skipString(): void {
    const from = position;
    let depth = 1;
    for (;;) {
      const byte = at(position);
      if (byte < 0) break;
      position += 1;
      if (byte === BACKSLASH) position += 1;
      else if (byte === OPEN) depth += 1;
      else if (byte === CLOSE) {
        depth -= 1;
        if (depth === 0) break;
      }
    }
    // One that never ends is nobody's string.
    const range = { start: from, end: position - 1 };
    if (depth === 0) options.string(range, false);
    add({ kind: "string", range, hex: false });
  }

  function skipHexString(): void {
    const from = position;
    for (let byte = at(position); byte >= 0 && byte !== GREATER; byte = at(position)) position += 1;
    const range = { start: from, end: position };
    options.string(range, true);
    position += 1;
    add({ kind: "string", range, hex: true });
  }

  function skipComment(): void {
    const from = position;
    for (let byte = at(position); byte >= 0 && byte !== 10 && byte !== 13; byte = at(position)) position += 1;
    if (position - from > STRUCTURE_WORD) plain = false;
  }

  function word(): string {
    const from = position;
    let text = "";
    for (let byte = at(position); byte >= 0 && CLASSES[byte] === REGULAR; byte = at(position)) {
      if (text.length < WORD_KEPT) text += String.fromCharCode(byte);
      if (byte > 0x7e || byte < 0x20) foreign += 1;
      position += 1;
    }
    if (position - from > STRUCTURE_WORD || foreign > FOREIGN_BYTES) plain = false;
    return text;
  }

  /** Whether the object ends with this word. */
  function keyword(): boolean {
    const from = position;
    const text = word();
    if (options.sequence) return addKeyword(text);
    if (text.startsWith("stream")) {
      // What follows belongs to the stream, even if nothing stands between.
      position = from + "stream".length;
      const outermost = frames[1]?.entries;
      if (frames[1]) finish(frames[1]);
      streams.push({ at: from, entries: outermost ?? dictionary ?? new Map() });
      if (outermost && stray) streams.push({ at: from, entries: stray });
      return frames.length === 1 || streams.length >= STREAMS_AT_MOST;
    }
    if (addKeyword(text)) return false;
    return frames.length === 1;
  }

  /** Whether it is a value; if not, it is a word like `endobj`. */
  function addKeyword(text: string): boolean {
    const values = frames.at(-1)?.values ?? [];
    if (text === "R") {
      const [object, generation] = values.slice(-2);
      if (object?.kind === "number" && generation?.kind === "number") {
        values.splice(-2, 2, { kind: "reference", object: object.value });
      }
      return true;
    }
    const first = text.charCodeAt(0);
    if ((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e) {
      add({ kind: "number", value: Number.parseFloat(text) || 0 });
      return true;
    }
    if (text !== "true" && text !== "false" && text !== "null") return false;
    add({ kind: "other" });
    return true;
  }

  for (let ended = false; !ended; ) {
    const byte = at(position);
    if (byte < 0) break;
    const kind = CLASSES[byte];
    if (kind === REGULAR) {
      ended = keyword() && !options.sequence;
      continue;
    }
    position += 1;
    if (kind === BLANK) continue;
    if (byte === OPEN) skipString();
    else if (byte === SLASH) add(nameOf(word()));
    else if (byte === PERCENT) skipComment();
    else if (byte === LEFT) open(false);
    else if (byte === RIGHT) close(false);
    else if (byte === LESS || byte === GREATER) {
      const twice = at(position) === byte;
      if (twice) position += 1;
      if (twice && byte === LESS) open(true);
      else if (twice) close(true);
      else if (byte === LESS) skipHexString();
    }
  }
  const unclosed = frames[1];
  if (!dictionary && unclosed?.entries) {
    // poppler takes a dictionary without its end for one.
    finish(unclosed);
    dictionary = unclosed.entries;
  }
  const value: Value | undefined = dictionary ? { kind: "dictionary", entries: dictionary } : frames[0]?.values[0];
  return { streams, end: position, plain, ...(value ? { value } : {}) };
}

const OPEN = 0x28;
const CLOSE = 0x29;
const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const PERCENT = 0x25;
const LESS = 0x3c;
const GREATER = 0x3e;
const LEFT = 0x5b;
const RIGHT = 0x5d;

function finishEntry(frame: Frame, allKeys: boolean): void {
  if (!frame.entries) return;
  const [value] = frame.values;
  if (frame.key !== undefined && value && (allKeys || KEYS.has(frame.key))) {
    const all = frame.entries.get(frame.key) ?? [];
    if (all.length < VALUES_PER_KEY) frame.entries.set(frame.key, [...all, value]);
  }
  frame.key = undefined;
  frame.values = [];
}

function nameOf(written: string): Value {
  if (!written.includes("#")) return { kind: "name", name: written, plain: true };
  const name = written.replace(/#([0-9a-fA-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return { kind: "name", name, plain: false };
}

/** What a string written in round brackets says: without escapes, octal numbers and broken lines. */
export function decodeString(written: Buffer): Buffer {
  const out = Buffer.allocUnsafe(written.length);
  let length = 0;
  for (let i = 0; i < written.length; i += 1) {
    let byte = written[i] ?? 0;
    if (byte === BACKSLASH) {
      i += 1;
      byte = written[i] ?? 0;
      if (byte >= 0x30 && byte <= 0x37) {
        let value = byte - 0x30;
        for (let digits = 1; digits < 3 && isOctal(written[i + 1]); digits += 1) {
          i += 1;
          value = value * 8 + (written[i] ?? 0) - 0x30;
        }
        byte = value & 0xff;
      } else if (byte === 13 || byte === 10) {
        if (byte === 13 && written[i + 1] === 10) i += 1;
        continue;
      } else byte = ESCAPES.get(byte) ?? byte;
    }
    out[length] = byte;
    length += 1;
  }
  return out.subarray(0, length);
}

/** The letters n, r, t, b and f. */
const ESCAPES: ReadonlyMap<number, number> = new Map([
  [0x6e, 10],
  [0x72, 13],
  [0x74, 9],
  [0x62, 8],
  [0x66, 12],
]);

function isOctal(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x37;
}

/** A stream that holds objects. */
export function isObjectStream(entries: Entries): boolean {
  return (entries.get("Type") ?? []).some((type) => type.kind === "name" && type.name === "ObjStm");
}
