import { type FSWatcher, type StatsFs, statfsSync, watch as watchFolder } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * clamd writes every stream and everything it unpacks into its temporary folder. When it cannot make a folder for a
 * scan there, it answers OK to anything, plain malware too (ClamAV issue 1353). So an OK counts only if there was room.
 */
export interface ClamdFolder {
  readonly path: string | undefined;
  /** How it is now, or was a moment ago. */
  room(): Room;
  /** The least room from now until `end`, looked at every few milliseconds. */
  watch(): RoomWatch;
  /** Whether clamd really uses this folder, by what happens in it while clamd works. */
  observe<T>(work: () => Promise<T>): Promise<T>;
}

export interface RoomWatch {
  /** As it was when the watch began. */
  readonly first: Room;
  /** Measures once more, at this very moment. */
  measure(): Room;
  /** Measures a last time, and answers the worst that was seen. */
  end(): Room;
}

/**
 * `enough`: clamd's OK can be believed. `short`: it has to show that it can still work. `full`: nothing that it said
 * meanwhile counts. `unseen`: the folder is not ours to see, so it has to show each time.
 */
export type Room = "enough" | "unseen" | "short" | "full";

const WORSE: readonly Room[] = ["enough", "unseen", "short", "full"];
const MIB = 1024 * 1024;

/**
 * What other scans write between two looks must not go unnoticed: a machine that writes 3 GB/s needs 20 ms, the time
 * between two looks, for 64 MiB. An inode goes with every member that is being unpacked, of which each of a dozen
 * threads has one for each of its 17 layers at most.
 */
const ENOUGH = { bytes: 64 * MIB, inodes: 512 };
/** A scan of a plain file takes two inodes and one block besides its own; the rest is for what is under way. */
const FULL = { bytes: MIB, inodes: 16 };
const MEASURE_EVERY_MS = 20;
/** Who begins may go by a look that found enough, so long ago at most: what has become of the room since then is seen at the end. */
const LOOK_MS = 2;

/** Names that clamd gives to streams and to folders of scans. */
const CLAMD_NAMES = /^(?:clamav-[0-9a-f]{32}\.tmp|\d{8}_\d{6}-[\w.-]*\.[0-9a-f]{10})$/;

export interface Free {
  bytes: number;
  /** Infinite where the file system does not count them. */
  inodes: number;
}

/** `sure`: somebody who knows has said that it is clamd's; otherwise clamd has to be seen at work in it first. */
export function clamdFolder(path: string | undefined, { sure }: { sure: boolean }): ClamdFolder {
  /** How many looks there were, and which was the last that found it so. */
  let looks = 0;
  const lastLook = { full: 0, short: 0, unseen: 0 };
  let watches = 0;
  let seen = sure;
  let timer: NodeJS.Timeout | undefined;
  /** When there was enough room. */
  let enoughAt: number | undefined;

  function room(): Room {
    return enoughAt !== undefined && performance.now() - enoughAt < LOOK_MS ? "enough" : look();
  }

  function look(): Room {
    const at = performance.now();
    const free = seen && path !== undefined ? freeIn(path) : undefined;
    const now = free ? roomOf(free) : "unseen";
    enoughAt = now === "enough" ? at : undefined;
    looks += 1;
    if (now !== "enough") lastLook[now] = looks;
    return now;
  }

  /** The worst that was found after so many looks. */
  function worstSince(before: number): Room {
    if (lastLook.full > before) return "full";
    if (lastLook.short > before) return "short";
    return lastLook.unseen > before ? "unseen" : "enough";
  }

  return {
    path,
    room,

    watch() {
      const first = room();
      const before = looks;
      let worst: Room | undefined;
      watches += 1;
      timer ??= setInterval(look, MEASURE_EVERY_MS).unref();
      return {
        first,
        measure: look,
        end() {
          if (worst !== undefined) return worst;
          look();
          worst = worse(first, worstSince(before));
          watches -= 1;
          if (watches === 0) {
            clearInterval(timer);
            timer = undefined;
          }
          return worst;
        },
      };
    },

    async observe(work) {
      if (sure || path === undefined) return work();
      let used = false;
      const watcher = watchNames(path, (name) => {
        used ||= CLAMD_NAMES.test(name);
      });
      try {
        const result = await work();
        // What the kernel tells about the folder may come a turn later than clamd's reply.
        for (let turns = 0; turns < 3 && watcher && !used; turns += 1) await nextTurn();
        return result;
      } finally {
        watcher?.close();
        seen = used;
        enoughAt = undefined;
      }
    },
  };
}

/** Undefined where it cannot be seen. */
export function freeIn(path: string): Free | undefined {
  let found: StatsFs;
  try {
    found = statfsSync(path);
  } catch {
    return undefined;
  }
  // Some file systems make inodes as they are needed, and say that there are none.
  return { bytes: found.bavail * found.bsize, inodes: found.files === 0 ? Number.POSITIVE_INFINITY : found.ffree };
}

export function roomOf(free: Free): Room {
  if (free.bytes < FULL.bytes || free.inodes < FULL.inodes) return "full";
  return free.bytes < ENOUGH.bytes || free.inodes < ENOUGH.inodes ? "short" : "enough";
}

/** What clamds that did not end by themselves have left in a folder: nothing that is still written to is that old. */
export async function leftoversIn(path: string, olderThanMs: number): Promise<string[]> {
  const names = (await readdir(path).catch(() => [])).filter((name) => CLAMD_NAMES.test(name));
  const before = Date.now() - olderThanMs;
  const old = names.map(async (name) => {
    const found = await stat(join(path, name)).catch(() => undefined);
    return found && found.mtimeMs <= before ? [join(path, name)] : [];
  });
  return (await Promise.all(old)).flat();
}

/** For a folder that no running clamd uses. */
export async function sweepLeftovers(path: string): Promise<void> {
  for (const leftover of await leftoversIn(path, Number.NEGATIVE_INFINITY))
    await rm(leftover, { recursive: true, force: true });
}

function watchNames(path: string, onName: (name: string) => void): FSWatcher | undefined {
  try {
    const watcher = watchFolder(path, { persistent: false }, (_, name) => onName(name ?? ""));
    watcher.on("error", () => undefined);
    return watcher;
  } catch {
    return undefined;
  }
}

function worse(one: Room, other: Room): Room {
  return WORSE.indexOf(one) > WORSE.indexOf(other) ? one : other;
}
