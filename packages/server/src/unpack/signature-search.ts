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

/** What containers begin with, or are known by, wherever they stand. */
const NEEDLES = {
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

const PATTERNS = Object.entries(NEEDLES).map(([name, text]) => ({
  name: name as Needle,
  bytes: Buffer.from(text, "latin1"),
}));
const OVERLAP = Math.max(...PATTERNS.map(({ bytes }) => bytes.length)) - 1;

type Candidate = { pattern: (typeof PATTERNS)[number]; offset: number };

/**
 * Bytes are looked at in pairs, each pair once: whichever pattern stands there has its first two bytes in a pair, or its
 * second and third. For each pair of bytes, which list of candidates is to be tried.
 */
const { table: LISTS, lists: CANDIDATES } = pairTable();

/** As this machine reads it. */
function pairOf(first = 0, second = 0): number {
  return new Uint16Array(Uint8Array.of(first, second).buffer)[0] ?? 0;
}

function pairTable(): { table: Uint8Array; lists: Candidate[][] } {
  const table = new Uint8Array(65536);
  const lists: Candidate[][] = [[]];
  function add(pair: number, candidate: Candidate): void {
    if (table[pair] === 0) table[pair] = lists.push([]) - 1;
    lists[table[pair] as number]?.push(candidate);
  }
  for (const pattern of PATTERNS) {
    const { bytes } = pattern;
    add(pairOf(bytes[0], bytes[1]), { pattern, offset: 0 });
    if (bytes.length > 2) add(pairOf(bytes[1], bytes[2]), { pattern, offset: 1 });
  }
  // The second byte of a pattern of two is the first of any pair: all of those share one list.
  for (const pattern of PATTERNS.filter(({ bytes }) => bytes.length === 2)) {
    const list = lists.push([{ pattern, offset: 1 }]) - 1;
    for (let next = 0; next < 256; next += 1) {
      const pair = pairOf(pattern.bytes[1], next);
      if (table[pair] === 0) table[pair] = list;
      else lists[table[pair] as number]?.push({ pattern, offset: 1 });
    }
  }
  return { table, lists };
}

/** Where in a content the signatures stand: in its first 8 MiB and its last. Each content is searched once. */
export function signaturesIn(content: Blob): ReadonlyMap<Needle, readonly number[]> {
  const known = searched.get(content);
  if (known) return known;
  const found = new Map<Needle, number[]>();
  for (const base of searchedPieces(content.size)) {
    const piece = readInto(content, scratch, base);
    const table = LISTS;
    // Two bytes are read at once where they stand at an even address.
    const odd = piece.byteOffset % 2;
    const pairs = new Uint16Array(piece.buffer, piece.byteOffset + odd, (piece.length - odd) >> 1);
    for (let index = 0; index < pairs.length; index += 1) {
      const list = table[pairs[index] as number] as number;
      if (list === 0) continue;
      tryCandidates(CANDIDATES[list] as Candidate[], { piece, at: odd + 2 * index, base }, found);
    }
  }
  searched.set(content, found);
  return found;
}

function tryCandidates(
  candidates: readonly Candidate[],
  { piece, at, base }: { piece: Buffer; at: number; base: number },
  found: Map<Needle, number[]>,
): void {
  for (const { pattern, offset } of candidates) {
    const start = at - offset;
    // A hit that begins in the overlap is the next piece's.
    if (start < 0 || start >= PIECE_BYTES || !standsAt(piece, start, pattern.bytes)) continue;
    const positions = found.get(pattern.name);
    if (!positions) found.set(pattern.name, [base + start]);
    else if (positions.length < HITS_AT_MOST) positions.push(base + start);
  }
}

function standsAt(piece: Buffer, start: number, bytes: Buffer): boolean {
  if (start + bytes.length > piece.length) return false;
  for (let index = 0; index < bytes.length; index += 1) if (piece[start + index] !== bytes[index]) return false;
  return true;
}

const scratch = Buffer.allocUnsafeSlow(PIECE_BYTES + OVERLAP);
const searched = new WeakMap<Blob, ReadonlyMap<Needle, readonly number[]>>();

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
