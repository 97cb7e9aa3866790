import { brotliDecompressSync, constants } from "node:zlib";
import type { Budget } from "../budget.ts";
import { emit, type Opener } from "../opener.ts";
import { mayBeginBrotli } from "./brotli-header.ts";
import { isCut } from "./streams.ts";

/** Brotli has no magic number: a content that nobody else knows is one if it unpacks to its last byte, or for long enough. */
export const brotli: Opener = {
  kind: "brotli",
  archive: true,
  find(content) {
    const head = content.bytes(0, NOISE_BYTES);
    if (content.size < BROTLI_LEAST_BYTES || !(looksCompressed(head) || beginsOpenly(head))) return [];
    const trial = content.bytes(0, BROTLI_TRIAL_BYTES);
    if (!mayBeginBrotli(trial, content.size)) return [];
    const begun = unbrotli(trial, BROTLI_TRIAL_OUTPUT_BYTES);
    // A short one is all here: a stream that is cut would not end at its last byte.
    const isShort = typeof begun === "object" && begun.taken < Math.min(content.size, BROTLI_PROOF_BYTES);
    const isNone = begun === "no" || isShort || (begun === "cut" && content.size <= BROTLI_TRIAL_BYTES);
    return isNone ? [] : [{ start: 0, end: content.size, sure: false }];
  },
  open(container, { sink, budget }) {
    const { memberInMemoryBytes } = budget.limits;
    const packed = container.bytes(0, memberInMemoryBytes);
    const unpacked = unbrotliCounted(packed, budget);
    if (unpacked === "too-large") return { kind: "too-large" };
    if (typeof unpacked === "string" || unpacked.taken < Math.min(container.size, BROTLI_PROOF_BYTES))
      return { kind: "unreadable" };
    emit(sink, { name: "", content: unpacked.content });
    return { kind: "opened", covered: [{ start: 0, end: unpacked.taken }] };
  },
};

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
const BROTLI_LEAST_BYTES = 16;
/** Of noise hardly anything makes sense for so long. */
const BROTLI_PROOF_BYTES = 32;
const BROTLI_TRIAL_BYTES = 512;
const BROTLI_TRIAL_OUTPUT_BYTES = 64 * 1024;

/** What is compressed looks like noise: nearly all bytes there are, equally often. A trial costs more than this. */
function looksCompressed(head: Buffer): boolean {
  seenBytes.fill(0);
  let different = 0;
  for (const byte of head) {
    if (seenBytes[byte] === 0) different += 1;
    seenBytes[byte] = 1;
  }
  return different >= head.length * NOISE_SHARE;
}

/** The first block may be packed by nothing at all, or be one that is passed over: neither looks like noise. */
function beginsOpenly(head: Buffer): boolean {
  const [first = 0] = head;
  const windowBits = (first & 1) === 0 ? 1 : (first & 0x0e) !== 0 ? 4 : (first & 0x7f) === 0x11 ? 14 : 7;
  const bits = BigInt(head.readUIntLE(0, 6)) >> BigInt(windowBits);
  const [isLast, sizes] = [Number(bits & 1n) === 1, Number((bits >> 1n) & 3n)];
  if (isLast) return false;
  return sizes === 3 ? ((bits >> 3n) & 1n) === 0n : ((bits >> BigInt(19 + 4 * sizes)) & 1n) === 1n;
}

const seenBytes = new Uint8Array(256);

const NOISE_BYTES = 256;
/** Noise has 0.63, text 0.2, programs and tables 0.3. */
const NOISE_SHARE = 0.42;

/** The program takes windows of more than 16 MiB as well; room for them is taken as they fill. */
const LARGE_WINDOW = { [constants.BROTLI_DECODER_PARAM_LARGE_WINDOW]: true };

export function unbrotli(
  packed: Buffer,
  maxOutputLength: number,
): { content: Buffer; taken: number } | "too-large" | "cut" | "no" {
  // Nearly all trials fail, and to note where takes longer than the trial.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const answer: unknown = brotliDecompressSync(packed, { params: LARGE_WINDOW, maxOutputLength, info: true });
    const { buffer, engine } = answer as { buffer: Buffer; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    if (error instanceof RangeError) return "too-large";
    return isCut(error) ? "cut" : "no";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
