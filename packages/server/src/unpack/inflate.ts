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
  // zlib gives nothing of a stream that is damaged, but all of a beginning without the damage: so that is looked for.
  let [good, bad] = [0, packed.length + 1];
  let content = Buffer.alloc(0);
  while (bad - good > 1) {
    const middle = bad === packed.length + 1 ? packed.length : (good + bad) >>> 1;
    const part = tryInflate(packed.subarray(0, middle), constants.Z_SYNC_FLUSH, maxBytes);
    if (part === "too-large") return { kind: "too-large" };
    budget.addWork(part ? middle : Math.min(middle, content.length + DAMAGE_FOUND_BYTES));
    // What has come out before the damage came out for each try.
    budget.addWork((part ? part.content : content).length / TOO_LARGE_SHARE);
    if (part) [good, content] = [middle, part.content];
    else bad = middle;
  }
  return { kind: "cut", content, taken: good };
}

/** What comes out in vain is runs of the same, which zlib writes faster than anybody searches them. */
const TOO_LARGE_SHARE = 4;
/** zlib stops at the damage: what it has read until then is not much more than what it has read in vain. */
const DAMAGE_FOUND_BYTES = 64 * 1024;

const USUAL_RATIO = 4;
const SMALLEST_CHUNK = 1024;
const LARGEST_CHUNK = 1024 * 1024;

function tryInflate(
  packed: Buffer,
  finishFlush: number,
  maxOutputLength: number,
): { content: Buffer<ArrayBuffer>; taken: number } | "too-large" | undefined {
  // Room for what usually comes out: more pieces would be joined in the end, and more room is thrown away.
  const chunkSize = Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, packed.length * USUAL_RATIO));
  try {
    // Node's types do not know that `info` changes the answer.
    const answer: unknown = inflateRawSync(packed, { finishFlush, maxOutputLength, chunkSize, info: true });
    const { buffer, engine } = answer as { buffer: Buffer<ArrayBuffer>; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    return error instanceof RangeError ? "too-large" : undefined;
  }
}
