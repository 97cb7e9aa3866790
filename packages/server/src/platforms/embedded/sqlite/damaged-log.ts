import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseUnavailable } from "./database-unavailable.ts";

/**
 * SQLite reads its log of changes up to the first frame that is not as it was written, and passes over the rest without a word:
 * after a crash that may be the end. Commits behind such a frame show that it is not: somebody wrote into the log, or the disk lost a
 * part of it.
 *
 *   header, 32 bytes: magic, version, page size, sequence, salt 1, salt 2, checksum 1, checksum 2
 *   frames, 24 bytes and a page each: page number, pages after a commit or 0, salt 1, salt 2, checksum 1, checksum 2
 *
 * A checksum goes over all that is before it. Frames of before the log was begun anew have other salts. Frames with the same salts that
 * belong to no commit are left by a transaction that was not finished (https://www.sqlite.org/fileformat2.html#walformat).
 */
interface DamagedLog {
  /** Where the first frame stands that is not as it was written. */
  at: number;
  /** Commits that can be seen behind the damage. There may have been more. */
  commits: number;
  /** Names what was written since the log was begun. */
  salts: string;
}

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
const VERSION = 3_007_000;
/** Copies are evidence, and take space. */
const MOST_COPIES = 3;
const COPY = ".damaged-";

/** The log of changes of a database. SQLite keeps it beside the file that a link leads to. */
export function logOf(path: string): string {
  return `${lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? realpathSync(path) : path}-wal`;
}

/**
 * Undefined for a log that is whole, or of which only the last transaction is missing. Read twice: another process may write frames
 * while they are read here. By the second time the frame is written that was only begun, and reading ends further behind, if at all.
 */
function damageOf(logPath: string, beforeSecondRead: () => void = () => {}): DamagedLog | undefined {
  const first = readLog(logPath);
  if (!first) return undefined;
  beforeSecondRead();
  const again = readLog(logPath);
  return again?.salts === first.salts && again.at === first.at ? again : undefined;
}

/**
 * Keeps a copy of a database's log of changes if that is damaged, before SQLite passes over what is behind the damage. Answers whether it was. Throws
 * `DatabaseUnavailable` when that cannot be kept: then the database must not be opened. Tests write between the two reads.
 */
export function keepDamagedLog(databasePath: string, beforeSecondRead?: () => void): boolean {
  const logPath = logOf(databasePath);
  const damage = damageOf(logPath, beforeSecondRead);
  if (!damage) return false;
  const copies = damagedLogs(databasePath);
  const path = `${logPath}${COPY}${damage.salts}`;
  if (copies.length >= MOST_COPIES || copies.includes(path)) return true;
  try {
    copyFileSync(logPath, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return true;
    throw new DatabaseUnavailable(
      `${logPath} is damaged, and a copy of it cannot be kept: ${error instanceof Error ? error.message : error}`,
      "make room in the data folder, or move the damaged file away: what was acknowledged last may be in it only",
      { cause: error },
    );
  }
  return true;
}

/** Throws `DatabaseUnavailable` where a copy of the database would be without commits that are behind the damage. */
export function refuseDamagedLog(databasePath: string): void {
  if (!damageOf(logOf(databasePath))) return;
  throw new DatabaseUnavailable(
    `${logOf(databasePath)} is damaged: jobs and results that were acknowledged last would be missing from a copy`,
    "start lazaret again, which keeps the damaged log and goes on without it; then make the backup",
  );
}

/** Returns the error and hint that are logged as long as there is such a copy. */
export function damagedLogNotice(copy: string): { error: string; hint: string } {
  return {
    error: `the job database's log of changes was damaged: jobs and results that were acknowledged last may be lost (kept: ${copy})`,
    hint: "check the disk; submit again what has no result; delete the copy when that is done, and this is said no more",
  };
}

/** The copies that are kept of a database's damaged logs. */
export function damagedLogs(databasePath: string): string[] {
  const logPath = logOf(databasePath);
  const [folder, prefix] = [dirname(logPath), `${basename(logPath)}${COPY}`];
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .sort()
    .map((name) => join(folder, name));
}

function readLog(path: string): DamagedLog | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    // There is none, or SQLite will say why it cannot be read.
    return undefined;
  }
  try {
    return readFrames(file);
  } finally {
    closeSync(file);
  }
}

function readFrames(file: number): DamagedLog | undefined {
  const header = view(file, 0, HEADER_BYTES);
  if (!header) return undefined;
  const little = (header.getUint32(0) & 1) === 0;
  const sums: Sums = [0, 0];
  addTo(sums, header, { from: 0, to: 24, little });
  const known = (header.getUint32(0) & ~1) >>> 0 === MAGIC && header.getUint32(4) === VERSION;
  let whole = known && sums[0] === header.getUint32(24) && sums[1] === header.getUint32(28);
  const pageBytes = pageBytesOf(header.getUint32(8));
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  const salts = whole ? saltsOf(header, 16) : undefined;
  let at = HEADER_BYTES;
  for (; whole; at += frameBytes) {
    const frame = view(file, at, frameBytes);
    if (!frame) return undefined;
    addTo(sums, frame, { from: 0, to: 8, little });
    addTo(sums, frame, { from: FRAME_HEADER_BYTES, to: frameBytes, little });
    const isCurrent = saltsOf(frame, 8) === salts;
    whole = isCurrent && frame.getUint32(0) !== 0 && sums[0] === frame.getUint32(16) && sums[1] === frame.getUint32(20);
  }
  return damageBehind(file, at, { salts, frameBytes });
}

/** Where the header is damaged the salts are those of the first frame that ends a commit: a lost block of the disk may be zeros. */
function damageBehind(
  file: number,
  from: number,
  { salts, frameBytes }: { salts: string | undefined; frameBytes: number },
): DamagedLog | undefined {
  let known = salts;
  let commits = 0;
  for (let at = from; ; at += frameBytes) {
    const frame = view(file, at, frameBytes);
    if (!frame) return commits > 0 && known ? { at: from, commits, salts: known } : undefined;
    if (frame.getUint32(4) === 0) continue;
    known ??= saltsOf(frame, 8);
    if (saltsOf(frame, 8) === known) commits += 1;
  }
}

type Sums = [number, number];

function addTo(sums: Sums, bytes: DataView, { from, to, little }: { from: number; to: number; little: boolean }): void {
  let first = sums[0] | 0;
  let second = sums[1] | 0;
  // Integers of 32 bits: eight megabytes take 20 ms, and with unsigned ones several times that.
  for (let at = from; at < to; at += 8) {
    first = (first + bytes.getInt32(at, little) + second) | 0;
    second = (second + bytes.getInt32(at + 4, little) + first) | 0;
  }
  sums[0] = first >>> 0;
  sums[1] = second >>> 0;
}

/** SQLite's own size where what stands there cannot be. */
function pageBytesOf(stated: number): number {
  return stated >= 512 && stated <= 65_536 && (stated & (stated - 1)) === 0 ? stated : 4096;
}

function saltsOf(bytes: DataView, at: number): string {
  return bytes.getBigUint64(at).toString(16).padStart(16, "0");
}

/** Undefined when there are fewer. */
function view(file: number, at: number, length: number): DataView | undefined {
  const bytes = Buffer.allocUnsafe(length);
  return readSync(file, bytes, 0, length, at) === length
    ? new DataView(bytes.buffer, bytes.byteOffset, length)
    : undefined;
}
