import { type Blob, readInto } from "./blob.ts";

/** As much of a content as recognising it by its beginning takes: the descriptors of a disc stand from 32 KiB on. */
const HEAD_BYTES = 66 * 1024;
/** How far 7-Zip and WinRAR look for the archive in a self-extracting one. */
const FRONT_BYTES = 8 * 1024 * 1024;
/** The longest comment of a zip, and room for what a program carries behind it. */
const BACK_BYTES = 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;
/** More of one kind in a single content mean nothing more. */
const HITS_AT_MOST = 256;

/** What containers begin with, or are known by, wherever they stand. Short: for these the search is fastest. */
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
} as const;

export type Needle = keyof typeof NEEDLES;

const PATTERNS = Object.entries(NEEDLES).map(([name, text]) => [name as Needle, Buffer.from(text, "latin1")] as const);
const OVERLAP = Math.max(...PATTERNS.map(([, pattern]) => pattern.length)) - 1;

/** Where in a content the signatures stand: in its first 8 MiB and its last. Each content is searched once. */
export function signaturesIn(content: Blob): ReadonlyMap<Needle, readonly number[]> {
  const known = searched.get(content);
  if (known) return known;
  const found = new Map<Needle, number[]>();
  for (const at of searchedPieces(content.size)) {
    const piece = readInto(content, scratch, at);
    for (const [needle, pattern] of PATTERNS) {
      const positions = found.get(needle) ?? [];
      // A hit that begins in the overlap is the next piece's.
      let hit = piece.indexOf(pattern);
      for (; hit >= 0 && hit < PIECE_BYTES && positions.length < HITS_AT_MOST; hit = piece.indexOf(pattern, hit + 1)) {
        positions.push(at + hit);
      }
      if (positions.length > 0) found.set(needle, positions);
    }
  }
  searched.set(content, found);
  return found;
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
