import { statSync } from "node:fs";
import { DatabaseUnavailable } from "./database-unavailable.ts";

/**
 * Throws `DatabaseUnavailable` when the files of an open database are not where they were: removed, or replaced by others.
 * SQLite goes on writing to files that nobody will ever find again. Asked after each transaction, before anybody is told
 * that it holds.
 */
export type InPlace = () => void;

export function inPlace(path: string): InPlace {
  const known = new Map<string, string>();
  const check = (): void => {
    for (const file of [path, `${path}-wal`]) {
      const now = identityOf(file);
      const before = known.get(file);
      // The log of changes is made with the first of them.
      if (before === undefined && now !== undefined) known.set(file, now);
      else if (before !== now) throw lost(file);
    }
  };
  check();
  return check;
}

function identityOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

function lost(file: string): DatabaseUnavailable {
  return new DatabaseUnavailable(
    `cannot use the job database: ${file} was removed or replaced while lazaret runs`,
    "put it back where it was, or stop lazaret, restore the data folder, and start it again; jobs are not accepted meanwhile",
  );
}
