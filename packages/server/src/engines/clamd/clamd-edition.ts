import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  statfsSync,
} from "node:fs";
import { isAbsolute, join } from "node:path";
import type { ClamdAddress } from "./address.ts";
import { readClamdConf } from "./clamd-conf.ts";

/**
 * Which signatures and settings a clamd works with, where that is beyond doubt.
 *
 * clamd cannot be asked: its VERSION is that of one official database, a reload that failed leaves the old signatures in use,
 * and its own look at its folder overlooks changes. But a clamd whose process began after the last change of its signatures
 * and of its configuration has loaded just these, or it would not run, and loads them again however often it reloads.
 * So all of this has to be seen: the process that listens at the socket, with the same files as ours; its configuration, by its
 * command line; the folder that is named there, on a disk of this machine; and that all of it is older than the process.
 * Whatever changes there later, or cannot be seen, ends the certainty until clamd is started again; also if all looks old once
 * more, as after a folder above was exchanged, or a disk was set back: nobody knows what clamd has loaded in between.
 */
export interface ClamdEdition {
  /** The same object for as long as nothing has changed, looked at anew by each call; undefined where nothing is certain. */
  now(): object | undefined;
  /** What the last call of `now` said. None ever comes back: who finds the same afterwards, by `now`, had it all the while. */
  last(): object | undefined;
  /** From then on nothing is certain. */
  close(): void;
}

interface Process {
  pid: number;
  /** In ticks since the machine was started, as the kernel writes it. */
  startTicks: string;
}

/** What all certainty rests on, as it was when it was found to be older than the process. */
interface Settled {
  edition: object;
  process: Process;
  life: Life;
  seen: readonly Seen[];
}

/** Of one process, whoever gets its number later. */
interface Life {
  goesOn(): boolean;
  close(): void;
}

interface Seen {
  path: string;
  mark: Mark;
}

interface Mark {
  dev: number;
  ino: number;
  size: number;
  mtimeMs: number;
  ctimeMs: number;
}

/** A look at all processes takes some milliseconds. */
const SEARCH_EVERY_MS = 60_000;
const CHECK_EVERY_MS = 1000;
/** Clocks of files are behind by up to 10 ms. */
const OLDER_BY_MS = 20;
/** Each is looked at for every answer. */
const MOST_FILES = 200;
/** Of the times that the kernel writes, whatever its own. */
const TICK_MS = 10;
const LOOKS_AT_CLOCKS = 5;
/** As far as the state of a process, which stands behind its number and a name of 15 bytes, each of which may be written as four. */
const STAT_HEAD_BYTES = 128;
const BRACKET = ")".charCodeAt(0);
/** States of a process that has not ended; its threads may be stopped or traced. */
const RUNNING: readonly string[] = ["R", "S", "D", "T", "t"];

/** Where the time of a change is set by this machine's kernel: ext4, xfs, btrfs, tmpfs, overlay, f2fs, zfs. */
const LOCAL_DISKS: readonly number[] = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1];

export function clamdEdition(address: ClamdAddress): ClamdEdition {
  if (address.kind !== "unix") return { now: () => undefined, last: () => undefined, close: () => {} };
  const socketPath = address.path;
  let settled: Settled | undefined;
  let found: Process | undefined;
  /** The process that something was seen to change under. */
  let doubted: Process | undefined;
  let socket: Mark | undefined;
  let notBefore = Number.NEGATIVE_INFINITY;
  let closed = false;

  function settle(): Settled | undefined {
    found = found && isRunning(found) ? found : processAt(socketPath);
    notBefore = performance.now() + (found ? CHECK_EVERY_MS : SEARCH_EVERY_MS);
    const seen = found && filesOf(found);
    const began = found && beginningOf(found);
    if (!found || !seen || began === undefined || isSameProcess(found, doubted)) return undefined;
    if (seen.some(({ mark }) => Math.max(mark.ctimeMs, mark.mtimeMs) > began - OLDER_BY_MS)) return undefined;
    const life = lifeOf(found);
    return life && { edition: {}, process: found, life, seen };
  }

  function unsettle(): void {
    settled?.life.close();
    settled = undefined;
  }

  return {
    now() {
      const at = closed ? undefined : markOf(socketPath);
      if (!at) {
        unsettle();
        return undefined;
      }
      if (!socket || !isSame(socket, at)) {
        // Another socket: another clamd.
        socket = at;
        unsettle();
        found = undefined;
        notBefore = Number.NEGATIVE_INFINITY;
      }
      if (settled && !isUnchanged(settled)) doubted = settled.process;
      if (settled && (doubted === settled.process || !settled.life.goesOn())) unsettle();
      if (!settled && performance.now() >= notBefore) settled = settle();
      return settled?.edition;
    },
    last: () => settled?.edition,
    close() {
      closed = true;
      unsettle();
    },
  };
}

function isUnchanged({ seen }: Settled): boolean {
  return seen.every(({ path, mark }) => isSame(mark, markOf(path)));
}

function isSameProcess(one: Process, other: Process | undefined): boolean {
  return one.pid === other?.pid && one.startTicks === other.startTicks;
}

function markOf(path: string): Mark | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isSame(one: Mark, other: Mark | undefined): boolean {
  return (
    other !== undefined &&
    one.ctimeMs === other.ctimeMs &&
    one.mtimeMs === other.mtimeMs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
  );
}

/** The folder of signatures with all that is in it, and the configuration. Undefined if anything about them is unclear. */
function filesOf({ pid }: Process): Seen[] | undefined {
  try {
    const sameFiles = ["ns/mnt", "root"].every((name) => linkOf(pid, name) === linkOf("self", name));
    const { confPath, foreground } = startOf(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    const conf = confPath === undefined ? undefined : readClamdConf(confPath);
    const folder = conf?.databaseDir;
    if (!sameFiles || confPath === undefined || folder === undefined) return undefined;
    // In the background it is another process than the one that has loaded the signatures.
    if (!foreground && !conf?.says("Foreground")) return undefined;
    // A link could be made to lead to an older folder.
    if (realpathSync(folder) !== folder || realpathSync(confPath) !== confPath) return undefined;
    if (!LOCAL_DISKS.includes(statfsSync(folder).type) || !LOCAL_DISKS.includes(statfsSync(confPath).type)) {
      return undefined;
    }
    const before = lstatSync(folder);
    const entries = readdirSync(folder, { withFileTypes: true });
    if (entries.length > MOST_FILES || entries.some((entry) => !entry.isFile())) return undefined;
    // The folder's own mark is from before its names were read: whatever comes or goes later changes it.
    const paths = [confPath, ...entries.map(({ name }) => join(folder, name))];
    return [{ path: folder, mark: before }, ...paths.map((path) => ({ path, mark: lstatSync(path) }))];
  } catch {
    return undefined;
  }
}

/**
 * The configuration that a clamd was started with: none where it is told anything besides.
 * @internal tested by table
 */
export function startOf(commandLine: string): { confPath?: string; foreground: boolean } {
  const args = commandLine.split("\0").slice(1, -1);
  const rest = args.filter((arg) => !FOREGROUND.test(arg));
  const foreground = rest.length < args.length;
  const [first = "", second, ...more] = rest;
  const path = first === "-c" ? second : second === undefined ? /^--config-file=(.+)$/s.exec(first)?.[1] : undefined;
  return path !== undefined && more.length === 0 && isAbsolute(path) ? { confPath: path, foreground } : { foreground };
}

const FOREGROUND = /^(?:-F|--foreground(?:=(?:yes|true))?)$/;

/** The one clamd that listens there, if it can be seen: it is in our network and its files are ours to see. */
function processAt(socketPath: string): Process | undefined {
  try {
    // A clamd of our own is behind a link.
    const paths = [socketPath, realpathSync(socketPath)];
    const listening = readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .map((line) => line.split(/ +/))
      .filter(([, , , flags, , , , ...path]) => flags === "00010000" && paths.includes(path.join(" ")));
    const inode = listening.length === 1 ? listening[0]?.[6] : undefined;
    if (inode === undefined) return undefined;
    const numbers = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const holders = numbers.filter((name) => isClamd(name) && holdsSocket(name, inode));
    const stat = holders.length === 1 ? statOf(Number(holders[0])) : undefined;
    return stat && { pid: Number(holders[0]), startTicks: stat.startTicks };
  } catch {
    return undefined;
  }
}

function isClamd(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8") === "clamd\n";
  } catch {
    return false;
  }
}

function holdsSocket(pid: string, inode: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(pid, `fd/${fd}`) === `socket:[${inode}]`);
  } catch {
    return false;
  }
}

function linkOf(pid: number | string, name: string): string {
  return readlinkSync(`/proc/${pid}/${name}`);
}

function isRunning({ pid, startTicks }: Process): boolean {
  const stat = statOf(pid);
  return stat?.startTicks === startTicks && RUNNING.includes(stat.state);
}

function statOf(pid: number | "self"): { state: string; startTicks: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in brackets, may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state, startTicks] = [fields[0], fields[19]];
    return state === undefined || startTicks === undefined ? undefined : { state, startTicks };
  } catch {
    return undefined;
  }
}

/**
 * What the kernel says of a process is held open, as to open it for every answer would take most of a look. It is never that of another
 * process with the same number: once the process is gone it cannot be read.
 */
function lifeOf(process: Process): Life | undefined {
  let stat: number;
  try {
    stat = openSync(`/proc/${process.pid}/stat`, "r");
  } catch {
    return undefined;
  }
  const head = Buffer.alloc(STAT_HEAD_BYTES);
  const life: Life = {
    goesOn() {
      try {
        const length = readSync(stat, head, 0, STAT_HEAD_BYTES, 0);
        const nameEnd = length > 0 ? head.lastIndexOf(BRACKET, length - 1) : -1;
        return nameEnd !== -1 && RUNNING.includes(String.fromCharCode(head[nameEnd + 2] ?? 0));
      } catch {
        return false;
      }
    },
    close: () => closeSync(stat),
  };
  // It was opened while that process had the number, as it has it still.
  if (isRunning(process)) return life;
  life.close();
  return undefined;
}

/**
 * When a process began, in milliseconds since 1970, or a little before that: the latest of what is certain, as we may be held up
 * between two looks at clocks. Undefined where the uptime is not that of the kernel, as in some containers.
 */
function beginningOf({ startTicks }: Process): number | undefined {
  const ourTicks = statOf("self")?.startTicks;
  if (ourTicks === undefined) return undefined;
  let latest: number | undefined;
  for (let look = 0; look < LOOKS_AT_CLOCKS; look += 1) {
    const now = Date.now();
    const sinceOurStart = performance.now();
    const uptimeMs = Number(readFileSync("/proc/uptime", "latin1").split(" ")[0]) * 1000 + TICK_MS;
    const ageMs = (ticks: string): number => uptimeMs - Number(ticks) * TICK_MS;
    if (ageMs(ourTicks) < sinceOurStart - OLDER_BY_MS || ageMs(startTicks) < 0) return undefined;
    // Files that were written before the clock was set are marked by the old time.
    const steppedMs = Math.abs(now - performance.timeOrigin - sinceOurStart);
    latest = Math.max(latest ?? 0, now - ageMs(startTicks) - steppedMs);
  }
  return latest;
}
