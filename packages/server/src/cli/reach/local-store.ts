import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { CannotStart } from "../../compose/cannot-start.ts";
import type { JobStore } from "../../platforms/embedded/job-store.ts";
import { loadSettings } from "../flags/load-settings.ts";

type OperatorStore = Pick<JobStore, "deadLetters" | "browser"> & AsyncDisposable;

/** The jobs of the local data folder, whether or not a server runs on it; those of AWS on that platform. */
export async function localStore(flags: Record<string, string | undefined>): Promise<OperatorStore> {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  if (settings.platform === "aws") {
    const { awsOperatorStore } = await import("../../compose/platform.ts");
    return awsOperatorStore(settings);
  }
  mayUse(settings.dataDir, ["jobs.db", "secret.key"]);
  if (!existsSync(join(settings.dataDir, "jobs.db"))) {
    throw new CannotStart(
      `there are no jobs in ${settings.dataDir}`,
      "name the server's data folder with --data-dir or LAZARET_DATA_DIR",
    );
  }
  const { openJobStore } = await import("../../platforms/embedded/job-store.ts");
  const store = await openJobStore(settings.dataDir);
  return { ...store, [Symbol.asyncDispose]: () => store.close() };
}

/** Throws if this user may not use the data folder, or one of the files in it: it would look as if they were not there. */
export function mayUse(dataDir: string, names: readonly string[]): void {
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

const LONGEST_PAGE = 1000;

/** For commander, which tells the user what is wrong with an argument. */
export function pageLimit(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= LONGEST_PAGE) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${LONGEST_PAGE}.`);
}

/** The one that was asked for, or the error that says how to find it. */
export function found<T>(entry: T | undefined, id: string, list: string): T {
  if (entry !== undefined) return entry;
  throw new CannotStart(`there is no ${id} here`, `${list} shows what there is`);
}
