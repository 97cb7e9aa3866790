import { type Blob, piecesOf, readInto } from "./blob.ts";
import type { Budget } from "./budget.ts";
import type { Opener, Place } from "./opener.ts";

/** As much of a content as recognising it by its beginning takes: the descriptors of a disc stand from 32 KiB on. */
const HEAD_BYTES = 66 * 1024;
/** How far 7-Zip and WinRAR look for the archive in a self-extracting one. */
const FRONT_BYTES = 8 * 1024 * 1024;
/** The longest comment of a zip, and room for what a program carries behind it. */
const BACK_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** Of one kind in a single content; what has more is never looked at in full. */
const HITS_AT_MOST = 4096;
/** So many of one kind are opened. */
const PLACES_AT_MOST = 256;

/**
 * What containers begin with, or are known by, wherever they stand.
 * @internal a test compares with the plain way to search
 */
export const NEEDLES = {
  zipMember: "PK\x03\x04",
  zipEnd: "PK\x05\x06",
  sevenZip: "7z\xbc\xaf\x27\x1c",
  rar: "Rar!\x1a\x07",
  cab: "MSCF\0\0\0\0",
  nsis: "NullsoftInst",
  compound: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
  gzip: "\x1f\x8b\x08",
  bzip2Block: "1AY&SY",
  xz: "\xfd7zXZ\0",
  zstd: "\x28\xb5\x2f\xfd",
  pdf: "%PDF-",
  tar: "ustar",
  arj: "\x60\xea",
  lzh: "-lh",
} as const;

export type Needle = keyof typeof NEEDLES;

/**
 * What some openers search for by themselves. For the sieve, which has no time for that, all are searched for at once.
 * @internal a test compares with the plain way to search
 */
export const MARKS = {
  yenc: "=ybegin ",
  rtf: "{\\rt",
  pdfObject: "obj",
  postScript: "%!PS-Adobe-",
  powerPointObject: "\0\x11\x10",
  macro: "\0Attribut\0e",
} as const;

export type Mark = keyof typeof MARKS;

type Positions<Name extends string> = ReadonlyMap<Name, readonly number[]>;
type Search<Name extends string> = (piece: Buffer, base: number, found: Map<Name, number[]>) => void;

const LOW_BYTE_FIRST = new Uint16Array(Uint8Array.of(1, 0).buffer)[0] === 1;
const findNeedles: Search<Needle> = searchFor(NEEDLES);
const findNeedlesAndMarks: Search<Needle | Mark> = searchFor({ ...NEEDLES, ...MARKS });
const OVERLAP = Math.max(...Object.values(NEEDLES).map((text) => text.length)) - 1;

/** As this machine reads it. */
function pairOf(first = 0, second = 0): number {
  return LOW_BYTE_FIRST ? first | (second << 8) : (first << 8) | second;
}

/**
 * Bytes are looked at in pairs, each pair once: whichever pattern stands there has its first two bytes in a pair, or its
 * second and third. For each pair of bytes, which list of candidates is to be tried; nearly always it is none.
 */
function searchFor<Name extends string>(patterns: Readonly<Record<Name, string>>): Search<Name> {
  interface Candidate {
    name: Name;
    bytes: Buffer;
    /** How far behind its beginning the pair stands. */
    offset: number;
  }
  const table = new Uint8Array(65536);
  const lists: Candidate[][] = [[]];
  for (const [name, text] of Object.entries(patterns) as [Name, string][]) {
    const bytes = Buffer.from(text, "latin1");
    add(pairOf(bytes[0], bytes[1]), { name, bytes, offset: 0 });
    // The second byte of a pattern of two is the first of any pair.
    const thirds = bytes.length > 2 ? [bytes[2]] : Array.from({ length: 256 }, (_, byte) => byte);
    for (const third of thirds) add(pairOf(bytes[1], third), { name, bytes, offset: 1 });
  }

  function add(pair: number, candidate: Candidate): void {
    const before = lists[table[pair] as number] as Candidate[];
    const list = [...before, candidate];
    const same = lists.findIndex(
      (one) => one.length === list.length && one.every((each, at) => isSame(each, list[at])),
    );
    table[pair] = same >= 0 ? same : lists.push(list) - 1;
  }

  function isSame(one: Candidate, other: Candidate | undefined): boolean {
    return one.name === other?.name && one.offset === other.offset;
  }

  function tryAt(piece: Buffer, at: number, base: number, found: Map<Name, number[]>): void {
    for (const { name, bytes, offset } of lists[table[pairOf(piece[at], piece[at + 1])] as number] as Candidate[]) {
      const start = at - offset;
      // A hit that begins in the overlap is the next piece's.
      if (start < 0 || start >= PIECE_BYTES || !standsAt(piece, start, bytes)) continue;
      const positions = found.get(name);
      if (!positions) found.set(name, [base + start]);
      else if (positions.length < HITS_AT_MOST) positions.push(base + start);
    }
  }

  return (piece, base, found) => {
    // Two pairs are read at once where they stand at such an address. What is before and behind goes pair by pair.
    const first = Math.min(piece.length, (4 - (piece.byteOffset % 4)) % 4);
    const count = (piece.length - first) >> 2;
    const last = first + 4 * count;
    for (let at = first % 2; at < first; at += 2) tryAt(piece, at, base, found);
    const fours = count === 0 ? NO_FOURS : new Int32Array(piece.buffer, piece.byteOffset + first, count);
    const lookUp = table;
    for (let index = 0; index < count; index += 1) {
      const four = fours[index] as number;
      if (((lookUp[four & 0xffff] as number) | (lookUp[four >>> 16] as number)) === 0) continue;
      tryAt(piece, first + 4 * index, base, found);
      tryAt(piece, first + 4 * index + 2, base, found);
    }
    for (let at = last; at + 1 < piece.length; at += 2) tryAt(piece, at, base, found);
  };
}

const NO_FOURS = new Int32Array();

function standsAt(piece: Buffer, start: number, bytes: Buffer): boolean {
  if (start + bytes.length > piece.length) return false;
  for (let index = 0; index < bytes.length; index += 1) if (piece[start + index] !== bytes[index]) return false;
  return true;
}

/** Where in a content the signatures stand: in its first 8 MiB and its last. Each content is searched once. */
export function signaturesIn(content: Blob): Positions<Needle> {
  const known = searched.get(content);
  if (known) return known;
  const found = new Map<Needle, number[]>();
  for (const base of searchedPieces(content.size)) findNeedles(readInto(content, scratch, base), base, found);
  searched.set(content, found);
  return found;
}

/** The same with the marks, of a content that is one piece and in memory. Whoever asks for signatures later has them. */
export function signaturesAndMarksIn(content: Blob): Positions<Needle | Mark> {
  if (!isOnePiece(content)) throw new Error("cannot search a content for marks that is not one piece in memory");
  const found = new Map<Needle | Mark, number[]>();
  findNeedlesAndMarks(content.bytes(0, content.size), 0, found);
  searched.set(content, found as ReadonlyMap<Needle, number[]>);
  return found;
}

export function isOnePiece(content: Blob): boolean {
  return content.inMemory && content.size <= PIECE_BYTES;
}

const scratch = Buffer.allocUnsafeSlow(PIECE_BYTES + OVERLAP);
const searched = new WeakMap<Blob, Positions<Needle>>();

function* searchedPieces(size: number): Generator<number> {
  for (let at = 0; at < size; at += PIECE_BYTES) {
    if (at < FRONT_BYTES || at + PIECE_BYTES > size - BACK_BYTES) yield at;
  }
}

const heads = new WeakMap<Blob, Buffer>();

/** The beginning of a content, read once however many openers ask for it. */
export function headOf(content: Blob): Buffer {
  if (content.inMemory) return content.bytes(0, HEAD_BYTES);
  const known = heads.get(content);
  if (known) return known;
  const head = content.bytes(0, HEAD_BYTES);
  heads.set(content, head);
  return head;
}

/**
 * The containers of one kind that stand within a content, at those signatures where one is likely. Where there are too many
 * to open, the content as a whole is one more, which nobody can open: so it is never clean.
 */
export function placesWithin(content: Blob, needle: Needle, likely: (position: number) => number | undefined): Place[] {
  const positions = signaturesIn(content).get(needle) ?? [];
  const places: Place[] = [];
  for (const position of positions) {
    const start = likely(position);
    if (start === undefined || start <= 0) continue;
    if (places.length === PLACES_AT_MOST) return [...places, tooMany(content)];
    places.push({ start, end: content.size, sure: false });
  }
  return positions.length === HITS_AT_MOST ? [...places, tooMany(content)] : places;
}

const tooMany = (content: Blob): Place => ({ start: 0, end: content.size, sure: true });

/** Opens what `placesWithin` has found. */
export function openWithin(open: Opener["open"]): Opener["open"] {
  return (container, tools, place) => (place?.start === 0 ? { kind: "too-large" } : open(container, tools, place));
}

/** Every place where the bytes stand, from the front; one pass over the content. */
export function* findAll(content: Blob, bytes: Buffer, budget: Budget): Generator<number> {
  for (const piece of piecesOf(content, PIECE_BYTES, bytes.length - 1)) {
    budget.addWork(piece.bytes.length);
    let hit = piece.bytes.indexOf(bytes);
    for (; hit >= 0 && hit < PIECE_BYTES; hit = piece.bytes.indexOf(bytes, hit + 1)) yield piece.at + hit;
  }
}
