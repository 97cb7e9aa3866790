import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";

const HEADER_BYTES = 3;
const FEWEST_BITS = 9;
const CLEARING = 256;
const PIECE_BYTES = 64 * 1024;
const WORK_RATIO = 4;

/**
 * Whether a file of compress (`.Z`) ends where a code does. It says neither how long it is nor that it ends, but its writer fills up the
 * last byte with zeros: other bits behind the last code are a part of one that was cut off. A cut between two codes cannot be told, nor
 * one behind a few bits that happen to be zeros: two of nine where codes have nine bits, one of two where they have sixteen.
 */
export function endsWithCode(container: Blob, budget: Budget): boolean {
  const flags = container.bytes(2, 1)[0] ?? 0;
  const [mostBits, canClear] = [flags & 0x1f, flags >= 0x80];
  // Programs disagree about how codes of nine bits go on.
  if (mostBits <= FEWEST_BITS) return true;
  budget.addWork(container.size * WORK_RATIO);
  const firstFree = canClear ? CLEARING + 1 : CLEARING;
  let [bits, free, isFirst] = [FEWEST_BITS, firstFree, true];
  // Codes are written in groups of eight: what is left of one is skipped when their length changes.
  let [group, bit] = [HEADER_BYTES, 0];
  let piece: Buffer = Buffer.alloc(0);
  let base = 0;
  const byteAt = (at: number): number => {
    if (at < base || at >= base + piece.length) [piece, base] = [container.bytes(at, PIECE_BYTES), at];
    return piece[at - base] ?? 0;
  };
  for (;;) {
    const isFull = free >= 2 ** bits && bits < mostBits;
    if ((isFull && bit > 0) || bit === 8 * bits) [group, bit] = [group + bits, 0];
    if (isFull) bits += 1;
    const at = group + (bit >> 3);
    if ((container.size - group) * 8 < bit + bits) break;
    const code = ((byteAt(at) | (byteAt(at + 1) << 8) | (byteAt(at + 2) << 16)) >> (bit & 7)) & (2 ** bits - 1);
    bit += bits;
    if (code === CLEARING && canClear) {
      [group, bit] = [group + bits, 0];
      [bits, free, isFirst] = [FEWEST_BITS, firstFree, true];
    } else if (isFirst) isFirst = false;
    else if (free < 2 ** mostBits) free += 1;
  }
  const start = group + (bit >> 3);
  const rest = container.bytes(start, Math.max(0, container.size - start));
  return rest.every((byte, index) => (index === 0 ? byte >> (bit & 7) : byte) === 0);
}
