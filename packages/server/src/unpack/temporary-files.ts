import { chmodSync, mkdtempSync, openSync, rmSync, statfsSync, unlinkSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { EngineUnavailable } from "../model/faults.ts";

const MIB: number = 1024 * 1024;

/**
 * The job database, clamd's own temporary files and the scans of others may be on the same file system as our temporary
 * files, and clamd without a free block says OK to anything. So we write only while more than a floor is free:
 *
 * - 2 % of the file system, so that a large disk shared with others keeps room for what they do;
 * - at least 256 MiB: clamd can finish spooling an upload of the largest size, 200 MiB;
 * - at most 4 GiB: 2 % of many terabytes is no shortage, and refusing to scan there would be an outage for nothing;
 * - at most a quarter of the file system, so that most of a small tmpfs can be used.
 */
const FLOOR_SHARE = 0.02;
const FLOOR_LEAST_BYTES: number = 256 * MIB;
const FLOOR_MOST_BYTES: number = 4096 * MIB;
const FLOOR_MOST_SHARE = 0.25;

/** The free space is read again after so many bytes, or sooner: so many writers at once must not use up the floor between. */
const CHECK_EVERY_BYTES: number = 4 * MIB;
const WRITERS_AT_ONCE = 32;

/** What statfs(2) tells of a file system: sizes in blocks. */
interface FileSystemSpace {
  bsize: number;
  blocks: number;
  bavail: number;
}

export interface SpaceReader {
  read(folder: string): Promise<FileSystemSpace>;
  readSync(folder: string): FileSystemSpace;
}

const operatingSystem: SpaceReader = { read: (folder) => statfs(folder), readSync: (folder) => statfsSync(folder) };

/** Permission to write the temporary files of one scan. Both throw `EngineUnavailable` when too little would stay free. */
interface Room {
  /** To be called before `bytes` are written; reads the free space now and then only. */
  claim(bytes: number): Promise<void>;
  claimSync(bytes: number): void;
}

/**
 * When there is no room for its first byte a scan is not the reason, and its job waits for as long as that is so. Later the
 * file itself may be what fills the disk, so it is tried a few times only.
 */
export function roomIn(folder: string, space: SpaceReader = operatingSystem): Room {
  let claimed = 0;
  let granted = 0;

  function grant(found: FileSystemSpace, bytes: number): void {
    const { floor, free } = shareOf(found);
    if (free - bytes < floor) {
      const words = `${inMib(free)} free, ${inMib(floor)} must stay free`;
      throw new EngineUnavailable(`no room for temporary files in ${folder}: ${words}`, { whileScanning: claimed > 0 });
    }
    granted = claimed + bytes + Math.min(CHECK_EVERY_BYTES, floor / WRITERS_AT_ONCE);
  }

  return {
    async claim(bytes) {
      if (claimed + bytes > granted) grant(await space.read(folder).catch(unreadable(folder)), bytes);
      claimed += bytes;
    },
    claimSync(bytes) {
      if (claimed + bytes > granted) grant(readNow(folder, space), bytes);
      claimed += bytes;
    },
  };
}

/** Throws `EngineUnavailable` when too little would stay free beside so many bytes of something else that stays. */
export async function checkRoomFor(
  what: { name: string; bytes: number },
  folder: string,
  space: SpaceReader = operatingSystem,
): Promise<void> {
  const { floor, free } = shareOf(await space.read(folder).catch(unreadable(folder)));
  if (free - what.bytes >= floor) return;
  const words = `${inMib(what.bytes)} needed, ${inMib(free)} free, ${inMib(floor)} must stay free`;
  throw new EngineUnavailable(`no room for ${what.name} in ${folder}: ${words}`);
}

/** For readiness: without room nothing that has to be written to disk can be scanned. Never throws. */
export async function checkRoom(
  folder: string,
  space: SpaceReader = operatingSystem,
): Promise<{ name: string; ok: boolean; detail: string }> {
  const name = "temporary-files";
  try {
    const { floor, free } = shareOf(await space.read(folder).catch(unreadable(folder)));
    return { name, ok: free > floor, detail: `${inMib(free)} free in ${folder}; ${inMib(floor)} must stay free` };
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

/** A folder that only we can look into, for files that have a name for a moment only. */
export function privateFolder(parent: string): { path: string } & Disposable {
  const path = mkdtempSync(join(parent, "lazaret-scan-"));
  chmodSync(path, 0o700);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

let opened = 0;

/** A new empty file in `folder`, open for reading and writing, without a name: nothing stays when we are killed. */
export function namelessFile(folder: string): number {
  opened += 1;
  const path = join(folder, `${process.pid}-${process.hrtime.bigint()}-${opened}`);
  try {
    const descriptor = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return descriptor;
  } catch (cause) {
    throw new EngineUnavailable(`cannot make a temporary file in ${folder}`, { cause });
  }
}

/** Of a file system that does not tell its size, as a tmpfs without one, nothing is known, so nothing is refused. */
function shareOf({ bsize, blocks, bavail }: FileSystemSpace): { floor: number; free: number } {
  if (blocks <= 0) return { floor: FLOOR_LEAST_BYTES, free: Number.POSITIVE_INFINITY };
  const size = blocks * bsize;
  const wanted = Math.min(FLOOR_MOST_BYTES, Math.max(FLOOR_LEAST_BYTES, size * FLOOR_SHARE));
  return { floor: Math.min(wanted, size * FLOOR_MOST_SHARE), free: bavail * bsize };
}

function readNow(folder: string, space: SpaceReader): FileSystemSpace {
  try {
    return space.readSync(folder);
  } catch (cause) {
    return unreadable(folder)(cause);
  }
}

function unreadable(folder: string): (cause: unknown) => never {
  return (cause) => {
    throw new EngineUnavailable(`cannot read the free space of ${folder}`, { cause });
  };
}

function inMib(bytes: number): string {
  return Number.isFinite(bytes) ? `${Math.floor(bytes / MIB)} MiB` : "an unknown number of MiB";
}
