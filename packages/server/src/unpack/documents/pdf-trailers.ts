import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { type EncryptionDictionary, type FileKey, keyWithoutPassword, type Method } from "./pdf-crypt.ts";
import { decodeHex } from "./pdf-filters.ts";
import { generationsIn, type TableStream } from "./pdf-generations.ts";
import { byteReader, decodeString, type Entries, PARSING, parseObject, type Value } from "./pdf-objects.ts";
import { dataStart, isAtEnd } from "./pdf-streams.ts";
import { objectNumber, wordFinder, wordsOf } from "./pdf-words.ts";

/** How a document is encrypted, by all the ways in which readers find that out. */
export interface Encryption {
  /** What opens it without a password. Several, if it was revised or pretends to be. */
  keys: readonly FileKey[];
  /** Somebody would have to type a password, or to have a certificate. */
  locked: boolean;
  /** What tables say about generations. */
  generations: readonly number[];
}

export const NOT_ENCRYPTED: Encryption = { keys: [], locked: false, generations: [] };

/** The end of a table of objects, or a stream that takes the place of both. */
interface Trailer {
  /** Where its word stands: `trailer`, or `obj`. */
  at: number;
  entries: Entries;
  /** It stands in a string, a comment or a stream. */
  inside: boolean;
}

const PLACES_PER_NUMBER = 4;
const NUMBERS_AT_MOST = 200_000;
const TRAILERS_AT_MOST = 1000;
const DICTIONARIES_AT_MOST = 8;
const IDENTIFIERS_AT_MOST = 4;
const TARGETS_AT_MOST = 1000;
const TEXT_BYTES = 4096;
/** Checking a password takes as long as reading so many bytes, about. */
const CHECK_WORK = 64 * 1024;

/** Tells whether the name is in the document at all: if not, nothing is encrypted, or a compressed object hides it. */
export function mentionsEncryption(content: Blob, budget: Budget): boolean {
  return wordFinder(content, "Encrypt", budget)(0) < content.size || !escapedNames(content, budget).next().done;
}

/**
 * Looks for the trailers of a document, wherever they stand, and for the encryption that they name.
 *
 * A trailer in a string, a comment or a stream is somebody's text, or belongs to a document that is embedded in this one,
 * unless a table leads to it, or the tables are damaged: then readers search for trailers themselves.
 */
export function encryptionOf(content: Blob, budget: Budget): Encryption {
  const at = byteReader(content);
  const parse = (start: number): ReturnType<typeof parseObject> => {
    const parsed = parseObject(at, start, { string() {}, allKeys: true });
    budget.addWork((parsed.end - start) * PARSING);
    return parsed;
  };
  const { encrypting: named, others, tooMany, places, open, tableStreams } = survey(content, { at, parse, budget });
  const objects = (object: number): Value[] =>
    (places.get(object) ?? []).flatMap((place) => {
      const { value } = parse(place);
      return value ? [value] : [];
    });
  const resolve = (value: Value | undefined): Value[] =>
    value?.kind === "reference" ? objects(value.object) : value ? [value] : [];
  const isEncryption = (value: Value): boolean => value.kind === "dictionary" && value.entries.has("Filter");
  const encrypting =
    named.length > 0
      ? named
      : wordlessTrailers(content, { at, parse, budget }).filter(({ entries }) =>
          namedBy(entries).flatMap(resolve).some(isEncryption),
        );
  if (encrypting.length === 0) return NOT_ENCRYPTED;
  const trailers = [...others, ...encrypting];
  markInside(encrypting, open, ({ start, object }) => {
    const ends = objects(object).map((length) => (length.kind === "number" ? start + length.value : 0));
    return Math.max(0, ...ends.filter((end) => end <= content.size && isAtEnd(content, end)));
  });
  const tables = encrypting.some(({ inside }) => inside) ? tablesOf(content, trailers, budget) : undefined;
  const counted = encrypting.filter(({ at, inside }) => !inside || !tables?.intact || tables.trailers.has(at));
  const text = (value: Value | undefined): Buffer => textOf(content, value);
  const identifiers = identifiersOf(trailers.flatMap(({ entries }) => entries.get("ID") ?? []).flatMap(resolve), text);
  const isCrowded = (object: number): boolean => (places.get(object) ?? []).length > PLACES_PER_NUMBER;
  const found = keysOf(counted, { identifiers, resolve, isCrowded, text, budget });
  // A reader that finds more wrong with the tables than we do goes by the others. What they open is no secret either.
  const rest = encrypting.filter((trailer) => !counted.includes(trailer));
  const more = keysOf(rest, { identifiers, resolve, isCrowded, text, budget }).keys;
  const keys = [...new Map([...found.keys, ...more].map((key) => [JSON.stringify(key), key])).values()];
  const generations = keys.length > 0 ? generationsIn(content, tableStreams, budget) : [];
  return { keys, locked: found.locked || tooMany || !generations, generations: generations ?? [] };
}

interface Survey {
  encrypting: Trailer[];
  others: Trailer[];
  /** There are more that speak of encryption. */
  tooMany: boolean;
  /** Where objects begin, by number. */
  places: Map<number, number[]>;
  open: OpenStream[];
  tableStreams: TableStream[];
}

/** A stream whose length stands in another object. */
interface OpenStream {
  start: number;
  object: number;
}

/** Both lists are in the order of the document. */
function markInside(trailers: Trailer[], open: readonly OpenStream[], endOf: (stream: OpenStream) => number): void {
  let [within, next] = [0, 0];
  for (const trailer of trailers) {
    for (let stream = open[next]; stream && stream.start < trailer.at; stream = open[next]) {
      within = Math.max(within, endOf(stream));
      next += 1;
    }
    trailer.inside ||= trailer.at < within;
  }
}

interface Reading {
  at(position: number): number;
  parse(start: number): ReturnType<typeof parseObject>;
  budget: Budget;
}

function survey(content: Blob, { at, parse, budget }: Reading): Survey {
  const encrypting: Trailer[] = [];
  const others: Trailer[] = [];
  let tooMany = false;
  const places: Survey["places"] = new Map();
  const open: OpenStream[] = [];
  const tableStreams: TableStream[] = [];
  const nextEnd = wordFinder(content, "endstream", budget);
  let within = 0;
  const add = (trailer: Trailer): void => {
    const list = namedBy(trailer.entries).length > 0 ? encrypting : others;
    if (list.length < TRAILERS_AT_MOST) list.push(trailer);
    else if (list === encrypting) tooMany = true;
  };
  for (const { word, at: position } of wordsOf(content, budget)) {
    if (word !== "obj" && word !== "trailer") continue;
    const from = position + word.length;
    const { value, streams, end } = parse(from);
    const inside = position < within || isCommented(at, position);
    if (word === "trailer") {
      if (value?.kind === "dictionary") add({ at: position, entries: value.entries, inside });
      continue;
    }
    const { id } = objectNumber(at, position);
    if (id) addPlace(places, id.number, from);
    within = Math.max(within, end);
    for (const { at: stream, entries } of streams) {
      const start = dataStart(at, stream);
      if (isXref(entries)) {
        add({ at: position, entries, inside });
        tableStreams.push({ start, end: nextEnd(start), entries });
      }
      for (const length of entries.get("Length") ?? []) {
        if (length.kind === "reference") open.push({ start, object: length.object });
        const dataEnd = length.kind === "number" ? start + length.value : 0;
        if (dataEnd > within && isAtEnd(content, dataEnd)) within = dataEnd;
      }
    }
  }
  return { encrypting, others, tooMany, places, open, tableStreams };
}

/** Finds dictionaries that name an encryption and follow no word: mutool takes any of them for the trailer. */
function wordlessTrailers(content: Blob, { parse, budget }: Reading): Trailer[] {
  const found: Trailer[] = [];
  for (const at of namesOfEncryption(content, budget)) {
    if (found.length >= TRAILERS_AT_MOST) break;
    const from = Math.max(0, at - TEXT_BYTES);
    const before = content.bytes(from, at - from).toString("latin1");
    const starts = [...before.matchAll(/<</g)].slice(-OPEN_AT_MOST).map(({ index }) => from + index);
    for (const start of starts.toReversed()) {
      const { value } = parse(start);
      if (value?.kind !== "dictionary" || namedBy(value.entries).length === 0) continue;
      found.push({ at: start, entries: value.entries, inside: false });
      break;
    }
  }
  return found;
}

function* namesOfEncryption(content: Blob, budget: Budget): Generator<number> {
  const next = wordFinder(content, "/Encrypt", budget);
  for (let at = next(0); at < content.size; at = next(at + 1)) yield at;
  yield* escapedNames(content, budget);
}

/** Finds the name /Encrypt with letters written as #45. */
function* escapedNames(content: Blob, budget: Budget): Generator<number> {
  const nextEscape = wordFinder(content, "#", budget);
  for (let at = nextEscape(0); at < content.size; at = nextEscape(at + 1)) {
    const from = Math.max(0, at - "/Encryp".length);
    const around = content.bytes(from, at - from + ESCAPED_NAME_BYTES).toString("latin1");
    const [name] = around.match(/\/[A-Za-z]*#[0-9A-Fa-f]{2}[A-Za-z0-9#]*/) ?? [];
    const plain = name?.replaceAll(/#([0-9A-Fa-f]{2})/g, (_, digits) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (plain === "/Encrypt") yield from + around.indexOf("/");
  }
}

/** Each letter of /Encrypt may take three bytes. */
const ESCAPED_NAME_BYTES = 3 * "/Encrypt".length;

/** Dictionaries that begin before the name and may have ended before it, too. */
const OPEN_AT_MOST = 4;

function addPlace(places: Survey["places"], number: number, place: number): void {
  const all = places.get(number);
  if (!all) {
    if (places.size < NUMBERS_AT_MOST) places.set(number, [place]);
  } else if (all.length <= PLACES_PER_NUMBER) all.push(place);
}

function isCommented(at: (position: number) => number, position: number): boolean {
  for (let before = position - 1; before >= Math.max(0, position - 256); before -= 1) {
    const byte = at(before);
    if (byte === 0x0a || byte === 0x0d) return false;
    if (byte === 0x25) return true;
  }
  return false;
}

/** By its type, or by the widths of its columns: most readers ask for nothing else. */
export function isXref(entries: Entries): boolean {
  return entries.has("W") || (entries.get("Type") ?? []).some((type) => type.kind === "name" && type.name === "XRef");
}

/** The encryption that a trailer names. The word alone says nothing. */
export function namedBy(entries: Entries): Value[] {
  return (entries.get("Encrypt") ?? []).filter(({ kind }) => kind === "reference" || kind === "dictionary");
}

/** Which trailers the tables lead to, and whether the last `startxref` leads to a table at all. */
function tablesOf(
  content: Blob,
  trailers: readonly Trailer[],
  budget: Budget,
): { trailers: ReadonlySet<number>; intact: boolean } {
  const header = Math.max(0, content.bytes(0, 1024 + 5).indexOf("%PDF-"));
  const nextStart = wordFinder(content, "startxref", budget);
  const nextTrailer = wordFinder(content, "trailer", budget);
  const targets: number[] = [];
  for (let at = nextStart(0); at < content.size; at = nextStart(at + 1)) {
    const written = /^startxref\s*(\d{1,15})/.exec(content.bytes(at, 64).toString("latin1"))?.[1];
    if (written !== undefined) targets.push(Number(written));
  }
  const [last = -1] = targets.slice(-1);
  for (const { entries } of trailers) {
    for (const value of ["Prev", "XRefStm"].flatMap((key) => entries.get(key) ?? [])) {
      if (value.kind === "number") targets.push(value.value);
    }
  }
  const found = new Set<number>();
  const follow = (target: number): boolean => {
    const positions = [target, target + header].filter((position) => position < content.size);
    const places = positions.flatMap((position) => tableAt(content, position, nextTrailer) ?? []);
    for (const place of places) found.add(place);
    return places.length > 0;
  };
  const distinct = [...new Set(targets)];
  for (const target of distinct.slice(0, TARGETS_AT_MOST)) follow(target);
  return { trailers: found, intact: distinct.length <= TARGETS_AT_MOST && follow(last) };
}

/** The trailer of the table at a position, or behind a few blanks. */
function tableAt(content: Blob, position: number, nextTrailer: (position: number) => number): number | undefined {
  if (position < 0) return undefined;
  const text = content.bytes(position, 64).toString("latin1");
  if (/^\s*xref/.test(text)) return nextTrailer(position);
  const word = /^\s*\d+\s+\d+\s+obj/.exec(text)?.[0];
  return word === undefined ? undefined : position + word.length - "obj".length;
}

function textOf(content: Blob, value: Value | undefined): Buffer {
  if (value?.kind !== "string" || value.range.end - value.range.start > TEXT_BYTES) return Buffer.alloc(0);
  const written = content.bytes(value.range.start, value.range.end - value.range.start);
  return value.hex ? decodeHex(written).bytes : decodeString(written);
}

/** The first half of a document's identifier is part of its key. Some have none. */
function identifiersOf(lists: readonly Value[], text: (value: Value | undefined) => Buffer): Buffer[] {
  const all = lists.flatMap((list) => (list.kind === "list" ? [text(list.items[0])] : []));
  const distinct = new Map([...all, Buffer.alloc(0)].map((identifier) => [identifier.toString("hex"), identifier]));
  return [...distinct.values()].slice(-IDENTIFIERS_AT_MOST);
}

interface Resolving {
  identifiers: readonly Buffer[];
  resolve(value: Value | undefined): Value[];
  /** Whether there are more objects of this number than anybody has looked at. */
  isCrowded(object: number): boolean;
  text(value: Value | undefined): Buffer;
  budget: Budget;
}

/** Each trailer has to name an encryption that opens. Where it may be one of several, all have to. */
function keysOf(trailers: readonly Trailer[], tools: Resolving): Omit<Encryption, "generations"> {
  const keys = new Map<string, FileKey>();
  const known = new Map<string, boolean>();
  const opens = (entries: Entries, order: number): boolean => {
    const dictionary = encryptionDictionary(entries, order, tools);
    if (!dictionary) return false;
    const name = JSON.stringify(dictionary);
    const before = known.get(name);
    if (before !== undefined || known.size >= DICTIONARIES_AT_MOST) return before ?? false;
    tools.budget.addWork(CHECK_WORK);
    const key = keyWithoutPassword(dictionary, tools.identifiers);
    if (key) keys.set(JSON.stringify(key), key);
    known.set(name, key !== undefined || dictionary.methods.length === 0);
    return known.get(name) ?? false;
  };
  const locked = trailers.filter(({ entries }) => {
    const named = namedBy(entries);
    if (named.some((value) => value.kind === "reference" && tools.isCrowded(value.object))) return true;
    const tried = named
      .flatMap(tools.resolve)
      .flatMap((value) => (value.kind === "dictionary" && value.entries.has("Filter") ? [value.entries] : []))
      .map((dictionary) => [0, -1].map((order) => opens(dictionary, order)).includes(true));
    return tried.length === 0 || tried.includes(false);
  });
  return { keys: [...keys.values()].filter(({ methods }) => methods.length > 0), locked: locked.length > 0 };
}

/** What the standard handler wants to know; undefined for other handlers and for methods that nobody knows. */
function encryptionDictionary(entries: Entries, order: number, tools: Resolving): EncryptionDictionary | undefined {
  let isAmbiguous = false;
  const one = (key: string, from = entries): Value | undefined => {
    const values = from.get(key) ?? [];
    const resolved = values.flatMap(tools.resolve);
    // The first and the last of what stands there twice are tried, and no more.
    if (values.length > 2 || resolved.length > values.length) isAmbiguous = true;
    return resolved.at(order);
  };
  const number = (key: string, from = entries): number => {
    const value = one(key, from);
    return value?.kind === "number" ? value.value : 0;
  };
  const handler = one("Filter");
  const [version, revision] = [number("V"), number("R")];
  if (handler?.kind !== "name" || handler.name !== "Standard" || revision < 2 || revision > 6) return undefined;
  const filters = one("CF");
  const crypt = [...(filters?.kind === "dictionary" ? filters.entries : new Map<string, Value[]>())].flatMap(
    ([name, values]) =>
      values
        .flatMap(tools.resolve)
        .flatMap((value) => (value.kind === "dictionary" ? [[name, value.entries] as const] : [])),
  );
  const methods: readonly Method[] | undefined = version < 4 ? ["V2"] : methodsOf({ crypt, one });
  if (!methods || (revision < 5 && methods.includes("AESV3"))) return undefined;
  const dictionary = {
    revision,
    permissions: number("P"),
    lengths: [number("Length"), ...crypt.map(([, filter]) => number("Length", filter))],
    owner: tools.text(one("O")),
    user: tools.text(one("U")),
    ownerKey: tools.text(one("OE")),
    userKey: tools.text(one("UE")),
    methods,
  };
  return isAmbiguous ? undefined : dictionary;
}

interface CryptFilters {
  crypt: readonly (readonly [name: string, entries: Entries])[];
  one(key: string, from?: Entries): Value | undefined;
}

/** All that are in use or may be: a stream can ask for any of them. */
function methodsOf({ crypt, one }: CryptFilters): Method[] | undefined {
  const methods = new Map(
    crypt.flatMap(([name, filter]) => {
      const method = one("CFM", filter);
      return method?.kind === "name" && isMethod(method.name) ? [[name, method.name] as const] : [];
    }),
  );
  const inUse = ["StmF", "StrF", "EFF"].flatMap((key) => one(key) ?? []);
  const isKnown = inUse.every(
    (value) => value.kind === "name" && (value.name === "Identity" || methods.has(value.name)),
  );
  return isKnown ? [...new Set(methods.values())] : undefined;
}

function isMethod(name: string): name is Method {
  return name === "V2" || name === "AESV2" || name === "AESV3";
}
