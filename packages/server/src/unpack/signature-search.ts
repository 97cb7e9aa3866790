import { type Blob, piecesOf, readInto } from "./blob.ts";
import type { Budget } from "./budget.ts";
import type { ByteAt } from "./byte-pattern.ts";
import { byteScan, plainScan } from "./byte-scan.ts";
import type { Opener, Place } from "./opener.ts";

/** As much of a content as recognising it by its beginning takes: the descriptors of a disc stand from 32 KiB on. */
export const HEAD_BYTES: number = 66 * 1024;
/** How far 7-Zip and WinRAR look for the archive in a self-extracting one. */
const FRONT_BYTES = 8 * 1024 * 1024;
/** The longest comment of a zip, and room for what a program carries behind it. */
const BACK_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** Of one kind in a single content; what has more is never looked at in full. */
const HITS_AT_MOST = 4096;
/** So many of one kind are opened, unless the kind allows fewer. */
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
  cab: "MSCF",
  nsis: "NullsoftInst",
  compound: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
  gzip: "\x1f\x8b\x08",
  oldGzip: "\x1f\x9e\x08",
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
 * What other openers look for, anywhere in a content: where none stands they need not look.
 * @internal a test compares with the plain way to search
 */
export const MARKS = {
  yenc: "=ybegin ",
  rtf: "{\\rt",
  pdfObject: "obj",
  postScript: "%!PS-Adobe-",
  powerPointObject: "\0\x11\x10",
  macro: "\0Attribut\0e",
  disc: "\x01CD001",
} as const;

export type Mark = keyof typeof MARKS;

type Positions<Name extends string> = ReadonlyMap<Name, readonly number[]>;
type Pattern = readonly [name: Needle | Mark, bytes: Buffer];

const PATTERNS: readonly Pattern[] = Object.entries({ ...NEEDLES, ...MARKS }).map(([name, text]) => [
  name as Needle | Mark,
  Buffer.from(text, "latin1"),
]);
const MARKS_BY_FIRST = byFirstByte(PATTERNS.filter(([name]) => name in MARKS));
const ALL_BY_FIRST = byFirstByte(PATTERNS);
const OVERLAP = Math.max(...PATTERNS.map(([, bytes]) => bytes.length)) - 1;
const texts = PATTERNS.map(([, bytes]) => bytes.toString("latin1"));
const lookOver = byteScan(texts, "shortest") ?? byteScan(texts, "plain") ?? plainScan(texts);

function byFirstByte(patterns: readonly Pattern[]): Pattern[][] {
  return Array.from({ length: 256 }, (_, first) => patterns.filter(([, bytes]) => bytes[0] === first));
}

/** Adds what begins in a piece to `found`. Where the search stops at text, and there is some, it answers true. */
function search(
  piece: Buffer,
  base: number,
  { patterns, found, untilText = false }: { patterns: Pattern[][]; found: Map<string, number[]>; untilText?: boolean },
): boolean {
  const tryAt = (start: number): void => {
    // A hit that begins in the overlap is the next piece's.
    if (start >= PIECE_BYTES) return;
    for (const [name, bytes] of patterns[piece[start] as number] ?? []) {
      if (!standsAt(piece, start, bytes)) continue;
      const positions = found.get(name);
      if (!positions) found.set(name, [base + start]);
      else if (positions.length < HITS_AT_MOST) positions.push(base + start);
    }
  };
  return lookOver(piece, tryAt, untilText);
}

function standsAt(piece: Buffer, start: number, bytes: Buffer): boolean {
  if (start + bytes.length > piece.length) return false;
  for (let index = 0; index < bytes.length; index += 1) if (piece[start + index] !== bytes[index]) return false;
  return true;
}

/**
 * Where signatures stand in a content, in its first 8 MiB and its last, and marks, anywhere in it: at many places, or at all. Each content is
 * searched once, for all of them.
 */
export function signaturesIn(content: Blob): Positions<Needle | Mark> {
  const known = searches.get(content);
  if (known) return known;
  const found = new Map<Needle | Mark, number[]>();
  for (let base = 0; base < content.size; base += PIECE_BYTES) {
    const isWithin = base < FRONT_BYTES || base + PIECE_BYTES > content.size - BACK_BYTES;
    const patterns = isWithin ? ALL_BY_FIRST : MARKS_BY_FIRST;
    search(readInto(content, scratch, base), base, { patterns, found });
  }
  searches.set(content, found);
  return found;
}

export function marksIn(content: Blob, mark: Mark): readonly number[] {
  return signaturesIn(content).get(mark) ?? NOWHERE;
}

const NOWHERE: readonly number[] = [];

/** All of them in a content that is one piece and in memory; nothing if there is any text in it. Whoever asks later has them. */
export function signaturesAndMarksIn(content: Blob): Positions<Needle | Mark> | undefined {
  if (!isOnePiece(content)) throw new Error("cannot search a content for marks that is not one piece in memory");
  const found = new Map<Needle | Mark, number[]>();
  const isText = search(content.bytes(0, content.size), 0, { patterns: ALL_BY_FIRST, found, untilText: true });
  if (isText) return undefined;
  searches.set(content, found);
  return found;
}

export function isOnePiece(content: Blob): boolean {
  return content.inMemory && content.size <= PIECE_BYTES;
}

const scratch = Buffer.allocUnsafeSlow(PIECE_BYTES + OVERLAP);
const searches = new WeakMap<Blob, Positions<Needle | Mark>>();

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
 * Whether a content has any of the bytes by which a kind is known.
 * @internal tests ask it about one opener; `containersIn` asks for all of them at once
 */
export function mayBe(knownBy: readonly ByteAt[], content: Blob): boolean {
  const at = byteOf(content);
  return knownBy.some(({ offset, bytes }) => bytes[at(offset) ?? -1] === 1);
}

/** Reads single bytes of a content: from its beginning, as far as its head reaches, or from its end where the offset is negative. */
export function byteOf(content: Blob): (offset: number) => number | undefined {
  const head = headOf(content);
  return (offset) => {
    if (offset >= 0) return head[offset];
    return content.size + offset >= 0 ? content.bytes(content.size + offset, 1)[0] : undefined;
  };
}

/**
 * Finds the containers of one kind that stand within a content, at those signatures where one is likely. Where there are too many to
 * open, the content as a whole is the only place, and cannot be opened: so it is never clean, and no time goes into the others.
 */
export function placesWithin(
  content: Blob,
  needle: Needle,
  likely: (position: number) => number | undefined,
  atMost: number = PLACES_AT_MOST,
): Place[] {
  const positions = signaturesIn(content).get(needle) ?? [];
  const places: Place[] = [];
  for (const position of positions) {
    const start = likely(position);
    if (start === undefined || start <= 0) continue;
    if (places.length >= Math.min(atMost, PLACES_AT_MOST)) return [tooMany(content)];
    places.push({ start, end: content.size, sure: false });
  }
  return positions.length === HITS_AT_MOST ? [tooMany(content)] : places;
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
