import { type Blob, type Range, readInto } from "../blob.ts";

/**
 * Where in a text a search for encoded data has to look at all. Most texts are words, with something every few bytes that
 * stands in no run: a space between two words, an angle bracket. So from one such byte we go to the last one within reach, and
 * pass over most bytes without a look. Only where there is none within reach the search itself has to be asked.
 *
 * This is on the safe side of the searches' rules: whatever they find in the whole text they find in these stretches.
 */
export interface Breaks {
  /** What each byte is: in no run (1), in no run where `depends` says so (2), or neither. */
  table: Uint8Array;
  depends(piece: Buffer, at: number): boolean;
  /** Every run has that many bytes in a row without any break. */
  reach: number;
  /** And if it has not so many, there is a word in it of `reach` such letters. */
  least?: { bytes: number; letters: Uint8Array };
  /** So much behind a stretch may belong to it, whatever stands between: long strings are joined by all kinds of words. */
  joined: number;
}

export const BREAK = 1;
export const DEPENDS = 2;
const PIECE_BYTES = 256 * 1024;

/** The stretches of a region in which nothing breaks a run for `reach` bytes, and what may belong to them. */
export function unbrokenStretches(content: Blob, region: Range, breaks: Breaks): Range[] {
  const { reach, joined } = breaks;
  const stretches: Range[] = [];
  const scratch = content.inMemory ? EMPTY : Buffer.allocUnsafeSlow(Math.min(content.size, PIECE_BYTES));
  /** The last break that is known; there is one before the region. */
  let broken = region.start - 1;
  /** Where a stretch began of which the end is not known yet, or -1. */
  let open = -1;

  function end(at: number, piece: Buffer, base: number): void {
    const { least } = breaks;
    const isShort = least && at - open < least.bytes && open >= base;
    if (isShort && !hasWord(piece.subarray(open - base, at - base), least.letters, reach)) {
      open = -1;
      return;
    }
    const last = stretches.at(-1);
    const behind = Math.min(at + joined, region.end);
    if (last && open <= last.end) last.end = behind;
    else stretches.push({ start: open, end: behind });
    open = -1;
  }

  while (broken < region.end - 1) {
    // What stands before a byte is looked at, too.
    const base = content.inMemory ? 0 : Math.max(0, broken - BEFORE);
    const piece = content.inMemory ? content.bytes(0, content.size) : readInto(content, scratch, base);
    const limit = Math.min(region.end - base, piece.length);
    const whole = base + limit >= region.end;
    let from = broken - base;
    while (from < limit - 1) {
      if (open < 0) {
        const last = Math.min(from + reach, limit - 1);
        let at = last;
        while (at > from && !isBreak(breaks, piece, at)) at -= 1;
        if (at > from) {
          from = at;
          continue;
        }
        if (last < from + reach) break;
        open = base + from + 1;
        from = last;
      }
      from += 1;
      while (from < limit && !isBreak(breaks, piece, from)) from += 1;
      if (from < limit) end(base + from, piece, base);
    }
    broken = base + from;
    if (whole) break;
    // What stands behind a byte at the edge is in the next piece.
    if (open >= 0) broken = Math.min(broken, base + limit - 1 - BEFORE);
  }
  if (open >= 0) end(region.end, EMPTY, region.end);
  return stretches;
}

/** As far as anything depends on what stands before and behind it. */
const BEFORE = 24;
const EMPTY = Buffer.alloc(0);

function hasWord(stretch: Buffer, letters: Uint8Array, length: number): boolean {
  let count = 0;
  for (const byte of stretch) {
    count = letters[byte] === 1 ? count + 1 : 0;
    if (count === length) return true;
  }
  return false;
}

function isBreak({ table, depends }: Breaks, piece: Buffer, at: number): boolean {
  const kind = table[piece[at] as number];
  return kind !== 0 && (kind === BREAK || depends(piece, at));
}
