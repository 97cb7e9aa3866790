import { randomBytes } from "node:crypto";
import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import type { OperatorParts } from "../compose/platform.ts";
import type { FoundKeys, KeyCare } from "../deliver/signing-keys.ts";
import type { JobStore } from "../platforms/embedded/job-store.ts";
import { findKeys, rotateKeys } from "../platforms/embedded/signing-keys.ts";
import { makeFolder } from "../platforms/shared/durable-file.ts";
import type { Page } from "../queue/job-queue.ts";
import { pageLimit } from "./flag-values.ts";
import { loadSettings } from "./load-settings.ts";
import { print, say, table } from "./terminal/output.ts";

const DEV_KEY = "dev-key";
const DEV_ADMIN_KEY = "dev-admin-key";
/** For commander: the flag of every command that works on the data folder. */
export const DATA_DIR = ["--data-dir <path>", "the server's data folder"] as const;

export type OperatorStore = Pick<JobStore, OperatorParts> & AsyncDisposable;

/**
 * The jobs, keys and acts of the local data folder, whether or not a server runs on it; those of PostgreSQL or AWS on that platform.
 * With `make` a data folder need not have been used before: keys may be made before the service starts for the first time.
 */
export async function localStore(flags: { dataDir?: string }, { make = false } = {}): Promise<OperatorStore> {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  if (settings.platform === "aws") {
    const { awsOperatorStore } = await import("../compose/platform.ts");
    return awsOperatorStore(settings);
  }
  if (settings.platform === "postgres") {
    const { postgresOperatorStore } = await import("../compose/platform.ts");
    return postgresOperatorStore(settings);
  }
  if (make) checkNewFolder(settings.dataDir);
  else databaseIn(settings.dataDir);
  const { openJobStore } = await import("../platforms/embedded/job-store.ts");
  const store = await openJobStore(settings.dataDir);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

/** Rewrites the jobs of the local data folder to their smallest size; answers its bytes before and after. */
export async function compactLocal(flags: { dataDir?: string }): Promise<{ before: number; after: number }> {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  if (settings.platform !== "embedded") {
    const why = settings.platform === "postgres" ? ": PostgreSQL keeps its tables small, see lazaret doctor" : "";
    throw new CannotStart(
      "the jobs of this installation are in no file",
      `there is nothing to compact on this platform${why}`,
    );
  }
  const path = databaseIn(settings.dataDir);
  const { compactDatabase } = await import("../platforms/embedded/sqlite/database-size.ts");
  const before = statSync(path).size;
  compactDatabase(path);
  return { before, after: statSync(path).size };
}

/** Where it is. Throws if there is none, or this user may not use it. */
function databaseIn(dataDir: string): string {
  const path = join(dataDir, "jobs.db");
  checkAccess(dataDir, ["jobs.db", "secret.key"]);
  if (existsSync(path)) return path;
  throw new CannotStart(
    `there are no jobs in ${dataDir}`,
    "name the server's data folder with --data-dir or LAZARET_DATA_DIR",
  );
}

/** One that was not used yet is said, as it may be another than the server's. Throws if what is made there would be nothing that the server may use. */
function checkNewFolder(dataDir: string): void {
  checkAccess(dataDir, ["jobs.db", "secret.key"]);
  if (existsSync(join(dataDir, "jobs.db"))) return;
  const owner = statSync(dataDir, { throwIfNoEntry: false })?.uid;
  const user = process.getuid?.();
  if (owner !== undefined && user !== undefined && owner !== user) {
    throw new CannotStart(
      `${dataDir} belongs to another user, and nothing was kept there yet`,
      `run it as the user that the server runs as: sudo -u '#${owner}' …`,
    );
  }
  say(`${dataDir} is new: a server that runs already has another, which --data-dir or LAZARET_DATA_DIR names\n`);
}

export interface ListFlags {
  dataDir?: string;
  limit: number;
  after?: string;
  json?: boolean;
}

/** For commands that list what the store holds, page by page. */
export function addListFlags(command: Command): Command {
  return command
    .option("--limit <number>", "at most so many", pageLimit, 50)
    .option("--after <cursor>", "go on where the page before ended")
    .option("--json", "as JSON");
}

export interface ListOptions<Entry> {
  /** How it is typed, for the hint at the next page. */
  command: string;
  read(store: OperatorStore, page: { limit: number; after?: string }): Promise<Page<Entry>>;
  headings: readonly string[];
  row(entry: Entry, now: number): string[];
}

/** Prints one page as a table, or as JSON. */
export async function printList<Entry>(flags: ListFlags, options: ListOptions<Entry>): Promise<void> {
  const { limit, after, json } = flags;
  await using store = await localStore(flags);
  const { entries, next } = await options.read(store, { limit, ...(after && { after }) });
  if (json) return print({ entries, next });
  const now = Date.now();
  const rows = entries.map((entry) => options.row(entry, now));
  print(table(options.headings, rows));
  if (next) say(`more: ${options.command} --after ${next}\n`);
}

/** The one that was asked for, or the error that says how to find it. */
export function found<T>(entry: T | undefined, id: string, list: string): T {
  if (entry !== undefined) return entry;
  throw new CannotStart(`there is no ${id} here`, `${list} shows what there is`);
}

/** The keys of the local data folder, or of PostgreSQL on that platform. */
export async function keyCare(flags: { dataDir?: string }): Promise<KeyCare & AsyncDisposable> {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  const { platform, dataDir, scannerStackName: stackName } = settings;
  if (platform === "aws") {
    throw new CannotStart(
      "the signing key of this installation is no file",
      "with platform aws it is the secret LAZARET_AWS_SIGNING_SECRET names in Secrets Manager; exchange it there",
    );
  }
  if (platform === "postgres") {
    const { postgresOperatorKeys } = await import("../compose/platform.ts");
    return postgresOperatorKeys(settings);
  }
  return {
    async find() {
      checkAccess(dataDir, ["callback-signing-key.pem"]);
      return await findKeys(dataDir);
    },
    rotate: (bits) => rotateKeys({ dataDir, stackName, bits }, new Date()),
    async [Symbol.asyncDispose]() {},
  };
}

/** The keys that are there; throws if there are none. */
export async function localKeys(flags: { dataDir?: string }): Promise<FoundKeys> {
  await using care = await keyCare(flags);
  const found = await care.find();
  if (found) return found;
  const { dataDir, platform } = loadSettings({ dataDir: flags.dataDir }, {}).settings;
  if (platform === "postgres") {
    throw new CannotStart(
      "there is no signing key in the job database",
      "lazaret serve makes one where callbacks are signed, lazaret signing-keys rotate makes one now",
    );
  }
  throw new CannotStart(
    `there is no signing key in ${dataDir}`,
    "lazaret dev makes one when it starts, lazaret signing-keys rotate makes one now; --data-dir names another folder",
  );
}

/** The keys of `lazaret dev`, one for programs and one for the console: made once, kept in the data folder, readable by its owner only. */
export function devKey(dataDir: string, kind: "api" | "admin" = "api"): string {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, kind === "api" ? DEV_KEY : DEV_ADMIN_KEY);
  try {
    writeFileSync(path, `dev-${randomBytes(18).toString("base64url")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readFileSync(path, "utf8").trim();
}

/** The same if `lazaret dev` has run on this data folder, and may be read. */
export function knownDevKey(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, DEV_KEY), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** Throws if this user may not use the data folder or one of these files; otherwise they would seem to be missing. */
function checkAccess(dataDir: string, names: readonly string[]): void {
  const { R_OK, W_OK, X_OK } = constants;
  // SQLite writes a file beside the database, also to read it.
  check(dataDir, R_OK | W_OK | X_OK);
  for (const name of names) check(join(dataDir, name), R_OK | W_OK);

  function check(path: string, mode: number): void {
    try {
      accessSync(path, mode);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!["EACCES", "EPERM", "EROFS"].includes(code)) return;
      throw new CannotStart(
        `this user may not read and write ${path}`,
        "run it as the user that the server runs as (sudo -u …), or name another data folder with --data-dir",
        { cause: error },
      );
    }
  }
}
