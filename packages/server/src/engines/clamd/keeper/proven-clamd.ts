import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { pause } from "../../../flow/time-limit.ts";
import { sweepLeftovers } from "../clamd-folder.ts";
import { type OwnClamd, ownClamd } from "../own-clamd.ts";
import type { KeeperState } from "./keeper-state.ts";
import { selfTest } from "./self-test.ts";
import type { SignatureSet } from "./signature-sets.ts";

/** A clamd whose signatures have passed their self-test. */
export interface ProvenClamd extends OwnClamd {
  set: SignatureSet;
  /** Of this one clamd: its configuration, socket and log. */
  folder: string;
}

export interface ProveOptions {
  /** The keeper's. */
  folder: string;
  config: Readonly<Record<string, string>>;
  binary: string;
  onSpawn?: (pid: number) => void;
}

const RUN = "r-";
const LINK = "clamd.sock";
/** As long as the longest scan may take; a queued file that takes longer is scanned again. */
const RETIRE_MS = 120_000;
const RETIRE_LOOK_MS = 250;

/** Starts a clamd with these signatures, and lets it show what they know. Throws, and leaves nothing, when it does not. */
export async function startProven(
  set: SignatureSet,
  { folder, config, binary, onSpawn }: ProveOptions,
  signal: AbortSignal,
): Promise<ProvenClamd> {
  const own = join(folder, `${RUN}${randomBytes(4).toString("hex")}`);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(own, { recursive: true, force: true }));
  await mkdir(own, { mode: 0o700 });
  const lines = { ...config, TemporaryDirectory: join(folder, "tmp") };
  const how = { folder: own, signaturesDir: set.folder, config: lines, binary, ...(onSpawn && { onSpawn }) };
  const clamd = await ownClamd(how, signal);
  undo.defer(() => clamd.kill());
  await selfTest({ kind: "unix", path: clamd.socketPath }, ["/bin/sh", binary], signal).catch((cause: Error) => {
    throw new Error(`the self-test of the signatures failed: ${cause.message}`, { cause });
  });
  undo.move();
  return { ...clamd, set, folder: own };
}

/** From now on whoever connects gets this one: a link is replaced in one step. */
export async function pointTo(clamd: ProvenClamd, folder: string): Promise<void> {
  const draft = join(folder, `${LINK}.draft`);
  await rm(draft, { force: true });
  await symlink(join(basename(clamd.folder), basename(clamd.socketPath)), draft);
  await rename(draft, join(folder, LINK));
}

/** Nobody gets any. */
export async function pointToNone(folder: string): Promise<void> {
  await rm(join(folder, LINK), { force: true });
}

/** Ends a clamd that nobody connects to any more, when those who did are done with it, or at once when asked to. */
export async function retire(clamd: ProvenClamd, signal: AbortSignal): Promise<void> {
  const end = performance.now() + RETIRE_MS;
  while (isUsed(clamd.socketPath) && performance.now() < end && (await pause(RETIRE_LOOK_MS, signal)));
  await stopNow(clamd);
}

/** What it scans already it may finish; who is still sending is cut off. */
export async function stopNow(clamd: ProvenClamd): Promise<void> {
  await clamd.stop();
  await rm(clamd.folder, { recursive: true, force: true });
}

/** Whether anybody is connected; where that cannot be seen, somebody may be. */
function isUsed(socketPath: string): boolean {
  try {
    const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
    // The sixth field is the state: 01 listens, 03 is connected.
    return lines.some((line) => line.endsWith(` ${socketPath}`) && line.split(/ +/)[5] === "03");
  } catch {
    return true;
  }
}

/** Ends a clamd that outlived its keeper, and removes what is left of it. For a keeper that has none yet. */
export async function sweepRuns(folder: string, before: KeeperState | undefined): Promise<void> {
  if (before?.pid !== undefined && isClamdOf(folder, before.pid)) process.kill(before.pid, "SIGKILL");
  await pointToNone(folder);
  const runs = (await readdir(folder)).filter((name) => name.startsWith(RUN));
  await Promise.all(runs.map((name) => rm(join(folder, name), { recursive: true, force: true })));
  await mkdir(join(folder, "tmp"), { recursive: true, mode: 0o700 });
  await sweepLeftovers(join(folder, "tmp"));
}

/** Numbers of processes come again: it must be a program that was started with a configuration in this folder. */
function isClamdOf(folder: string, pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`--config-file=${folder}/${RUN}`);
  } catch {
    return false;
  }
}
