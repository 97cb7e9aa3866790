import { brotliDecompressSync, constants } from "node:zlib";
import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { longestReadable, type Readable } from "../inflate.ts";
import type { Opener } from "../opener.ts";
import { mayBeginBrotli } from "./brotli-header.ts";
import { isCopied, isCut, openStreams, type Step } from "./streams.ts";

/**
 * Brotli has no magic number and no checksum: every content is tried. A few hundred bytes tell, as noise and texts break a rule
 * of the format soon: what decodes longer than that, to what is not simply its input, counts as proof.
 */
export const brotli: Opener = {
  kind: "brotli",
  archive: true,
  find(content) {
    let at = 0;
    // A short stream proves nothing, and an empty one may stand in front of another.
    for (let short = 0; short < SHORT_STREAMS_AT_MOST && content.size - at >= BROTLI_LEAST_BYTES; short += 1) {
      const trial = content.bytes(at, BROTLI_TRIAL_BYTES);
      if (!mayBeginBrotli(trial, content.size - at)) return [];
      const begun = unbrotli(trial, BROTLI_TRIAL_OUTPUT_BYTES);
      if (begun === "no") return isDamagedBrotli(trial) ? [{ start: 0, end: content.size, sure: true }] : [];
      if (typeof begun !== "object" || begun.taken >= Math.min(content.size - at, BROTLI_PROOF_BYTES)) {
        return [{ start: 0, end: content.size, sure: typeof begun !== "object" && isLongBrotli(trial) }];
      }
      at += begun.taken;
    }
    return [];
  },
  open: (container, tools, place) =>
    openStreams(container, tools, {
      next: (at) => brotliAt(container, at, { budget: tools.budget, sure: place?.sure }),
    }),
};

function brotliAt(container: Blob, at: number, { budget, sure }: { budget: Budget; sure?: boolean | undefined }): Step {
  const trial = container.bytes(at, BROTLI_TRIAL_BYTES);
  if (!mayBeginBrotli(trial, container.size - at)) return { kind: "none" };
  const packed = container.bytes(at, budget.limits.memberInMemoryBytes);
  const unpacked = unbrotliCounted(packed, budget);
  if (unpacked === "too-large") return { kind: "too-large" };
  if (typeof unpacked === "object")
    return { kind: "stream", name: "", content: unpacked.content, end: at + unpacked.taken, exact: false };
  // Behind a stream anything may stand, and does not begin another by chance.
  if (at > 0 && !(sure && isLongBrotli(trial))) return { kind: "none" };
  // Browsers show what came out before the damage.
  const part = longestReadable(packed, unbrotliStart, budget);
  if (part === "too-large") return { kind: "too-large" };
  if (isAllCopied(part.content, packed)) return { kind: "none" };
  return { kind: "cut", content: part.content, proven: part.taken >= BROTLI_TRIAL_BYTES && isProof(part, packed) };
}

/** Whether all of it stands in the stream as it is: runs of many a byte make sense as stored blocks, in one another, for ever. */
function isAllCopied(content: Buffer, packed: Buffer): boolean {
  let found = 0;
  for (let at = 0; at < content.length && found >= 0; at += COPIED_BYTES)
    found = packed.indexOf(content.subarray(at, at + COPIED_BYTES), found);
  return found >= 0;
}

/** Whether it is a stream that goes on behind these bytes. */
function isLongBrotli(trial: Buffer): boolean {
  const begun = unbrotliStart(trial, DECODED_AT_MOST);
  return typeof begun === "object" && begun.taken > 0 && isProof(begun, trial);
}

/**
 * Whether bytes were decoded from others by more than chance. By chance noise is a code of a few values, of which many come out for each of
 * its bytes, or a stored block.
 */
function isProof({ content, taken }: Readable, packed: Buffer): boolean {
  const seen = content.subarray(0, PROOF_SEEN_BYTES);
  const values = new Set(seen).size;
  const isLong = taken >= BROTLI_TRIAL_BYTES;
  if (values < (isLong ? VALUES_OF_LONG : VALUES_OF_SHORT)) return false;
  return (
    content.length <= taken * (values < MANY_VALUES ? MOST_OF_FEW : MOST_OF_MANY) &&
    !isCopied(seen, packed.subarray(0, PROOF_SEEN_BYTES))
  );
}

const PROOF_SEEN_BYTES = 64 * 1024;
/** Hexadecimal digits have 16 values. In 600,000 files of noise there were none with so many, and so few bytes for each. */
const [VALUES_OF_LONG, VALUES_OF_SHORT, MANY_VALUES] = [12, 24, 64];
const [MOST_OF_FEW, MOST_OF_MANY] = [16, 64];

/** Whether something stands before the damage that is not there by chance: readers of streams give it out. */
function isDamagedBrotli(trial: Buffer): boolean {
  let [good, bad] = [BROTLI_PROOF_BYTES, trial.length];
  let begun = unbrotliStart(trial.subarray(0, good), DECODED_AT_MOST);
  if (typeof begun !== "object") return false;
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1;
    const more = unbrotliStart(trial.subarray(0, middle), DECODED_AT_MOST);
    if (typeof more === "object") [good, begun] = [middle, more];
    else bad = middle;
  }
  return isProof(begun, trial);
}

const DECODED_AT_MOST = 1024 * 1024;
const COPIED_BYTES = 8;
const SHORT_STREAMS_AT_MOST = 8;

/** As much as a member may have in memory, charged to the budget. */
export function unbrotliCounted(packed: Buffer, budget: Budget): ReturnType<typeof unbrotli> {
  const { memberInMemoryBytes } = budget.limits;
  const unpack = (most: number): ReturnType<typeof unbrotli> => {
    const unpacked = unbrotli(packed, most);
    // A few bytes become any number: what came out in vain counts too, up to where it was stopped.
    const made = typeof unpacked === "object" ? unpacked.content.length : most;
    budget.addWork(unpacked === "no" ? packed.length : packed.length + made);
    return unpacked;
  };
  // Noise breaks off soon: room for more is given, and counted, only where it is needed.
  const soon = Math.min(memberInMemoryBytes, packed.length * SOON_RATIO);
  const begun = unpack(soon);
  return begun === "too-large" && soon < memberInMemoryBytes ? unpack(memberInMemoryBytes) : begun;
}

const SOON_RATIO = 4;
const SMALLEST_CHUNK = 1024;
const LARGEST_CHUNK = 1024 * 1024;
const BROTLI_LEAST_BYTES = 16;
/** Of noise hardly anything makes sense for so long. */
const BROTLI_PROOF_BYTES = 32;
const BROTLI_TRIAL_BYTES = 512;
const BROTLI_TRIAL_OUTPUT_BYTES = 64 * 1024;

/** The program takes windows of more than 16 MiB as well; room for them is taken as they fill. */
const LARGE_WINDOW = { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: true };

export function unbrotli(
  packed: Buffer,
  maxOutputLength: number,
  finishFlush: number = constants.BROTLI_OPERATION_FINISH,
): Readable | "too-large" | "cut" | "no" {
  // Nearly all trials fail, and to note where takes longer than the trial.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const answer: unknown = brotliDecompressSync(packed, {
      chunkSize: Math.min(LARGEST_CHUNK, Math.max(SMALLEST_CHUNK, packed.length * SOON_RATIO)),
      params: LARGE_WINDOW,
      maxOutputLength,
      finishFlush,
      info: true,
    });
    const { buffer, engine } = answer as { buffer: Buffer<ArrayBuffer>; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    if (error instanceof RangeError) return "too-large";
    return isCut(error) ? "cut" : "no";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The same, and of a stream that is cut off what comes out of it. */
function unbrotliStart(packed: Buffer, maxOutputLength: number): Readable | "too-large" | undefined {
  const unpacked = unbrotli(packed, maxOutputLength, constants.BROTLI_OPERATION_FLUSH);
  return typeof unpacked === "string" && unpacked !== "too-large" ? undefined : unpacked;
}
