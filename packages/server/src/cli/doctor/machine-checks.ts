import { existsSync, type Stats, statSync } from "node:fs";
import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inBytes } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const MIB = 1024 * 1024;
const LITTLE_SPACE = 1024 * MIB;
const NO_SPACE = 100 * MIB;
/** No release of Lazaret is older. */
const EARLIEST = Date.UTC(2026, 0, 1);
/** Clocks of file systems, and of servers, may be off a little. */
const SLACK_MS = 2 * 60_000;
/** For their owner only. */
const SECRETS = ["secret.key", "callback-signing-key.pem", "dev-key", "dev-admin-key", "jobs.db"];

/** Room for jobs and results, where they are or will be. */
export async function diskCheck(dataDir: string): Promise<Check> {
  const { bavail, bsize } = await statfs(existing(dataDir));
  return spaceCheck(dataDir, bavail * bsize);
}

/** @internal a test says how much is free */
export function spaceCheck(dataDir: string, freeBytes: number): Check {
  const detail = `${inBytes(freeBytes)} free for ${dataDir}`;
  const fix = "make room, or move it with LAZARET_DATA_DIR: a job that cannot be kept is refused";
  if (freeBytes < NO_SPACE) return fail("disk", detail, fix);
  return freeBytes < LITTLE_SPACE ? warn("disk", detail, fix) : ok("disk", detail);
}

function existing(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : existing(dirname(path));
}

/** Timestamps of callbacks, leases and results all go by this clock. */
export async function clockCheck(dataDir: string, now: number, serverTime?: number): Promise<Check> {
  const fix = "set this machine's clock, and let NTP keep it: callbacks more than 5 minutes off are refused";
  const shown = new Date(now).toISOString();
  if (now < EARLIEST) return fail("clock", `it says ${shown}, which cannot be`, fix);
  if (serverTime !== undefined && Math.abs(serverTime - now) > SLACK_MS) {
    const seconds = Math.round((now - serverTime) / 1000);
    return fail("clock", `it is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the server's`, fix);
  }
  const ahead = await newest(dataDir);
  if (ahead > now + SLACK_MS) {
    return warn("clock", `it says ${shown}, and files in ${dataDir} are of ${new Date(ahead).toISOString()}`, fix);
  }
  return ok("clock", shown);
}

async function newest(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const times = names.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0);
  return Math.max(0, ...(await Promise.all(times)));
}

/** May we write there, and may nobody else read it? */
export async function permissionChecks(dataDir: string): Promise<Check[]> {
  const folder = statOf(dataDir);
  if (!folder) return [await willBeMade(dataDir)];
  const checks: Check[] = [];
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    const fix = "run lazaret as the user it belongs to, or chown it";
    return [fail("permissions", `this user may not write to ${dataDir}`, fix)];
  }
  if (folder.mode & 0o077) {
    checks.push(warn("permissions", `others may look into ${dataDir} (${octal(folder)})`, `chmod 700 ${dataDir}`));
  }
  for (const name of SECRETS) {
    const path = join(dataDir, name);
    const file = statOf(path);
    if (file && file.mode & 0o077) {
      checks.push(fail("permissions", `others may read ${path} (${octal(file)})`, `chmod 600 ${path}`));
    }
  }
  return checks.length > 0 ? checks : [ok("permissions", `${dataDir} and its keys are for their owner only`)];
}

async function willBeMade(dataDir: string): Promise<Check> {
  const above = existing(dataDir);
  try {
    await access(above, constants.W_OK | constants.X_OK);
    return ok("permissions", `${dataDir} is not there yet, and will be made`);
  } catch {
    return fail("permissions", `${dataDir} is not there, and cannot be made in ${above}`, "set LAZARET_DATA_DIR");
  }
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function octal({ mode }: Stats): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
