import { constants, inflateRawSync } from "node:zlib";
import type { Blob } from "./blob.ts";
import type { Budget } from "./budget.ts";

/** What one deflate stream gave. `taken` bytes of the input belong to it. */
export type Inflated =
  | { kind: "whole"; content: Buffer; taken: number }
  /** It broke off or is damaged; `content` is what came out before that. */
  | { kind: "cut"; content: Buffer; taken: number }
  /** More than a member may have in memory. */
  | { kind: "too-large" };

/**
 * Unpacks the raw deflate stream that begins at a position of a container. Reads no more of it than it takes to see that there is
 * none: what begins like a stream stands in large files hundreds of times.
 */
export function inflateFrom(container: Blob, start: number, budget: Budget): Inflated {
  const most = Math.min(budget.limits.memberInMemoryBytes, container.size - start);
  for (let window = FIRST_WINDOW_BYTES; ; window *= WINDOW_GROWTH) {
    const inflated = inflateRaw(container.bytes(start, Math.min(window, most)), budget);
    const atTheEnd = inflated.kind === "cut" && inflated.taken >= window;
    if (!atTheEnd || window >= most) return inflated;
  }
}

/** Unpacks what begins with a whole raw deflate stream. Most bytes do not, which one look at the first of them tells. */
export function inflateWhole(content: Blob, budget: Budget): Exclude<Inflated, { kind: "cut" }> | undefined {
  const most = budget.limits.memberInMemoryBytes;
  const head = content.bytes(0, FIRST_WINDOW_BYTES);
  if (((head[0] ?? NO_BLOCK) & NO_BLOCK) === NO_BLOCK) return undefined;
  budget.addWork(head.length);
  if (!tryInflate(head, constants.Z_SYNC_FLUSH, most)) return undefined;
  budget.addWork(Math.min(content.size, most));
  const inflated = tryInflate(content.bytes(0, most), constants.Z_FINISH, most);
  return inflated === "too-large" ? { kind: inflated } : inflated && { kind: "whole", ...inflated };
}

/** The kind of a block that there is none of. */
const NO_BLOCK = 0x6;
const FIRST_WINDOW_BYTES = 4 * 1024;
const WINDOW_GROWTH = 16;

/** Unpacks one raw deflate stream in memory. It ends where it says so itself, whatever stands behind it. */
export function inflateRaw(packed: Buffer, budget: Budget, maxBytes = budget.limits.memberInMemoryBytes): Inflated {
  const whole = tryInflate(packed, constants.Z_FINISH, maxBytes);
  if (whole === "too-large") {
    // Nothing of it is counted anywhere else, and one stream may stand in many members.
    budget.addWork(maxBytes / TOO_LARGE_SHARE);
    return { kind: "too-large" };
  }
  if (whole) {
    budget.addWork(whole.taken);
    return { kind: "whole", ...whole };
  }
  const part = longestReadable(packed, inflateStart, budget, maxBytes);
  return part === "too-large" ? { kind: "too-large" } : { kind: "cut", ...part };
}

export interface Readable {
  content: Buffer<ArrayBuffer>;
  taken: number;
}

/** Finds the longest beginning that can be decoded: the decoders give nothing of a stream that is damaged, but all of a beginning without the damage. */
export function longestReadable(
  packed: Buffer,
  decode: (packed: Buffer, maxBytes: number) => Readable | "too-large" | undefined,
  budget: Budget,
  maxBytes = budget.limits.memberInMemoryBytes,
): Readable | "too-large" {
  let [good, bad] = [0, packed.length + 1];
  let content = Buffer.alloc(0);
  while (bad - good > 1) {
    const middle = bad === packed.length + 1 ? packed.length : (good + bad) >>> 1;
    const part = decode(packed.subarray(0, middle), maxBytes);
    if (part === "too-large") return part;
    budget.addWork(part ? middle : Math.min(middle, content.length + DAMAGE_FOUND_BYTES));
    // What has come out before the damage came out for each try.
    budget.addWork((part ? part.content : content).length / TOO_LARGE_SHARE);
    if (part) [good, content] = [middle, part.content];
    else bad = middle;
  }
  return { content, taken: good };
}

/** What comes out in vain is runs of the same, which zlib writes faster than anybody searches them. */
const TOO_LARGE_SHARE = 4;
/** Decoders stop at the damage: what it has read until then is not much more than what it has read in vain. */
const DAMAGE_FOUND_BYTES = 64 * 1024;

const USUAL_RATIO = 4;
const SMALLEST_CHUNK = 1024;
const LARGEST_CHUNK = 1024 * 1024;

/** Unpacks as much as there is of a stream that may go on behind these bytes; nothing if it is damaged. */
export function inflateStart(
  packed: Buffer,
  maxBytes: number,
  dictionary?: Buffer,
): Readable | "too-large" | undefined {
  return tryInflate(packed, constants.Z_SYNC_FLUSH, maxBytes, dictionary);
}

function tryInflate(
  packed: Buffer,
  finishFlush: number,
  maxOutputLength: number,
  dictionary?: Buffer,
): Readable | "too-large" | undefined {
  // Room for what usually comes out: more pieces would be joined in the end, and more room is thrown away.
  const chunkSize = Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, packed.length * USUAL_RATIO));
  try {
    // Node's types do not know that `info` changes the answer.
    const answer: unknown = inflateRawSync(packed, {
      ...{ finishFlush, maxOutputLength, chunkSize, info: true },
      ...(dictionary && { dictionary }),
    });
    const { buffer, engine } = answer as { buffer: Buffer<ArrayBuffer>; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    return error instanceof RangeError ? "too-large" : undefined;
  }
}

/** Whether a deflate stream may begin so: three of four random ones do not. Where the bytes end before that is known, they may. */
export function mayBeginDeflate(packed: Buffer): boolean {
  if (packed.length < 4) return true;
  const type = ((packed[0] ?? 0) >> 1) & 3;
  if (type === 0) return packed.length < 5 || (packed.readUInt16LE(1) ^ packed.readUInt16LE(3)) === 0xffff;
  return type === 1 || (type === 2 && mayBeginCodes(packed));
}

/** A block with codes of its own: how many there are, and that the lengths of the first code add up. */
function mayBeginCodes(packed: Buffer): boolean {
  const bits = (at: number, count: number): number =>
    (((packed[at >> 3] ?? 0) | ((packed[(at >> 3) + 1] ?? 0) << 8)) >> (at & 7)) & ((1 << count) - 1);
  const [literals, distances, lengths] = [bits(3, 5), bits(8, 5), bits(13, 4) + 4];
  if (literals > MOST_LITERALS || distances > MOST_DISTANCES) return false;
  const [first, width] = [17, 3];
  if (packed.length * 8 < first + lengths * width) return true;
  let space = 1 << 7;
  for (let index = 0; index < lengths; index += 1) {
    const length = bits(first + index * width, width);
    if (length > 0) space -= (1 << 7) >> length;
  }
  return space === 0;
}

/** As the header says it: 257 and 1 less than there are. */
const MOST_LITERALS = 29;
const MOST_DISTANCES = 29;
