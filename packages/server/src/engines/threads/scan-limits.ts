import type { UnpackLimits } from "../../unpack/budget.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

export const FULL_LIMITS: UnpackLimits = {
  // The file and sixteen archives inside one another: as deep as clamd looks with its stock MaxRecursion of 17.
  layers: 17,
  // The source code of a Java kit is 60,000 files. At 0.2 ms each for clamd they are through within the time limit.
  members: 100_000,
  // A second of the processor for members of members in a file of some kilobytes.
  membersFrom: 12_000,
  bytesPerMember: 12,
  // What comes through in the time limit even when xz-compressed (60 MB/s) on a core that is shared with others.
  unpackedBytes: 1024 * MIB,
  // Text and databases shrink to a hundredth at most; runs of zeros, which is what bombs are made of, to a thousandth.
  ratio: 200,
  // Below this a high ratio costs nothing and is often harmless: an empty table, a blank image.
  ratioFromBytes: 64 * MIB,
  // Recognising, finding and decoding pass over a byte about ten times.
  workRatio: 40,
  workFromBytes: 256 * MIB,
  // Half a second of the processor, and what a file of many small archives needs beyond that.
  unpackerStarts: 48,
  bytesPerUnpackerStart: 4 * KIB,
  // 7-Zip's strongest setting wants a dictionary of 256 MiB.
  unpackerBytes: 320 * MIB,
  memberInMemoryBytes: 64 * MIB,
  milliseconds: Number.POSITIVE_INFINITY,
};

/**
 * What the thread that is kept for small files goes through. A small file that needs more is handed to a thread that
 * large files use too: a bomb of a few kilobytes must not hold up everybody else's small files.
 */
export const LIGHT_LIMITS: UnpackLimits = {
  ...FULL_LIMITS,
  members: 2000,
  unpackedBytes: 32 * MIB,
  workFromBytes: 32 * MIB,
  unpackerStarts: 12,
  bytesPerUnpackerStart: 64 * KIB,
  unpackerBytes: 64 * MIB,
  memberInMemoryBytes: 16 * MIB,
  milliseconds: 300,
};

/** Hard limit per file, after which its thread is killed. Below the 60 seconds of the synchronous API. */
export const TIME_LIMIT_MS = 45_000;
/** The same for the thread kept for small files, should a reader forget its own: the file then goes to another thread. */
export const LIGHT_TIME_LIMIT_MS = 2_000;

/**
 * Larger files are spooled to disk. A file up to this size is small: it may use the thread kept for such, and is searched for
 * what the rules need in the main thread, in a millisecond or two. To hand it to a thread takes longer, and ten times as much
 * of the processor.
 */
export const SMALL_FILE_BYTES: number = MIB;

/**
 * A spooled file up to this size is read once, into memory of the thread that is used for the next one too. A larger one is read
 * piece by piece, by each reader that passes over it.
 */
export const READ_ONCE_BYTES: number = 16 * MIB;

/**
 * Content up to this size is given to the rules as a whole; larger content in windows of this size, each of which
 * repeats the end of the one before. WebAssembly needs the bytes in its own memory, so this is what a thread costs.
 */
export const WINDOW_BYTES: number = 16 * MIB;
export const WINDOW_OVERLAP_BYTES: number = MIB;

/** JavaScript heap of one thread, in MB. Contents of files are not on it. It dies when it needs more. */
export const THREAD_HEAP_MB = 256;
/** What a thread has of its own at the end of a request, garbage that nobody has collected yet included. */
export interface ThreadMemory {
  /** JavaScript objects. */
  heapBytes: number;
  /** Contents of files, and all WebAssembly memories. */
  externalBytes: number;
  /** The memory of the rules, which never shrinks. */
  rulesBytes: number;
}

/**
 * A thread that has grown by more than this since it started is replaced. Some of it may be garbage, which costs us a needless
 * start now and then; half of the heap is left for the files until the new thread is there.
 */
export const THREAD_GROWTH_LIMITS: ThreadMemory = {
  heapBytes: (THREAD_HEAP_MB / 2) * MIB,
  // One 7-Zip may have 320 MiB, and the one before it may not have been collected.
  externalBytes: 768 * MIB,
  // WebAssembly memory never shrinks. A window of 16 MiB makes it grow by as much.
  rulesBytes: 192 * MIB,
};
/** The part of it for what is gone at once. By default it grows to several times this, and stays. */
export const THREAD_YOUNG_HEAP_MB = 8;

/** Members on their way to clamd: when more bytes than this are under way, the thread waits. */
export const MEMBERS_UNDER_WAY_BYTES: number = 4 * MIB;
/** Small members travel together. */
export const SMALL_MEMBER_BYTES: number = 16 * KIB;
export const MEMBERS_TOGETHER = 500;
export const MEMBERS_TOGETHER_BYTES: number = 512 * KIB;
