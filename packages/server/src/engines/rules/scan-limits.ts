/**
 * How far the engine goes into one file. Whoever needs more than this gets `scanner:limits-exceeded`, never clean.
 */
export interface ScanLimits {
  /** The file itself is the first layer, what is in it the second, and so on. */
  layers: number;
  /** Files unpacked, of all layers together. */
  members: number;
  /** Bytes unpacked, of all layers together. */
  unpackedBytes: number;
  /** Bytes unpacked for each byte of the file, once more than `ratioFromBytes` have come out. */
  ratio: number;
  ratioFromBytes: number;
  /** Memory of one unpacker: its own 17 MB and the largest dictionary it may be asked for. */
  unpackerBytes: number;
  /** Time after which the worker itself gives up; the pool's hard limit is another matter. */
  milliseconds: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const FULL_LIMITS: ScanLimits = {
  // The file and sixteen archives inside one another: as deep as clamd looks with its stock MaxRecursion of 17.
  layers: 17,
  // What clamd is given as MaxFiles. At 2 ms each they are looked at well within the time limit.
  members: 10_000,
  // What comes through in the time limit even when xz-compressed (60 MB/s) on a core that is shared with others.
  unpackedBytes: 1024 * MIB,
  // Text and databases shrink to a hundredth at most; runs of zeros, which is what bombs are made of, to a thousandth.
  ratio: 200,
  // Below this a high ratio costs nothing and is often harmless: an empty table, a blank image.
  ratioFromBytes: 64 * MIB,
  // 7-Zip's strongest setting wants a dictionary of 256 MiB.
  unpackerBytes: 320 * MIB,
  milliseconds: Number.POSITIVE_INFINITY,
};

/**
 * What the thread that is kept for small files goes through. A small file that needs more is handed to a thread that
 * large files use too: a bomb of a few kilobytes must not hold up everybody else's small files.
 */
export const LIGHT_LIMITS: ScanLimits = {
  ...FULL_LIMITS,
  members: 100,
  unpackedBytes: 16 * MIB,
  unpackerBytes: 64 * MIB,
  milliseconds: 300,
};

/** Hard limit per file, after which its thread is killed. Below the 60 seconds of the synchronous API. */
export const TIME_LIMIT_MS = 45_000;

/** Larger files are spooled to disk. A file up to this size is small: it may use the thread kept for such. */
export const SMALL_FILE_BYTES: number = MIB;

/**
 * Content up to this size is given to the rules as a whole; larger content in windows of this size, each of which
 * repeats the end of the one before. WebAssembly needs the bytes in its own memory, so this is what a thread costs.
 */
export const WINDOW_BYTES: number = 16 * MIB;
export const WINDOW_OVERLAP_BYTES: number = MIB;

/**
 * Small contents are asked about together: one scan takes 2 ms before it has looked at anything, then 3 ms for a megabyte.
 * The more there are, the likelier a relaxed rule matches something in one and something else in another.
 */
export const TOGETHER_BYTES: number = MIB;
export const TOGETHER_COUNT = 32;
/** Larger contents gain nothing by it. */
export const TOGETHER_EACH_BYTES: number = 128 * KIB;

/** WebAssembly memory never shrinks: a thread whose rules memory has grown past this is replaced. */
export const RULES_MEMORY_BYTES: number = 192 * MIB;

/** JavaScript heap of one thread, in MB. Contents of files are not on it. */
export const THREAD_HEAP_MB = 256;
/** The part of it for what is gone at once. By default it grows to several times this, and stays. */
export const THREAD_YOUNG_HEAP_MB = 16;

/** Archives found inside an archive wait for their turn: up to this much in memory, the rest on disk. */
export const WAITING_MEMORY_BYTES: number = 16 * MIB;
