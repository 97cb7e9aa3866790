import { existsSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { DATA_DIR } from "./data-folder.ts";
import { withExamples } from "./examples.ts";
import { wholeNumber } from "./flag-values.ts";
import { loadSettings } from "./load-settings.ts";
import { ago, inBytes, out, print, say } from "./terminal/output.ts";

interface BackupFlags {
  dataDir?: string;
  keep?: number;
  /** False with --without-keys. */
  keys: boolean;
  json?: boolean;
}

export function backupCommand(): Command {
  const command = new Command("backup")
    .description("copy the data folder while the service runs, as it was at one moment")
    .argument("<folder>", "where backups are kept: each is a folder in it, named by its time")
    .option(...DATA_DIR)
    .option("--keep <number>", "keep this many, and delete older ones", wholeNumber)
    .option("--without-keys", "leave out secret.key, the signing key and all other files that may be secret")
    .option("--json", "as JSON")
    .action((into: string, { withoutKeys = false, ...flags }: BackupFlags & { withoutKeys?: boolean }) =>
      backUp(into, { ...flags, keys: !withoutKeys }),
    );
  return withExamples(
    command,
    [
      ["backup /var/backups/lazaret", "prints the folder that was made"],
      ["backup /var/backups/lazaret --keep 14", "every day, keeping the last two weeks"],
    ],
    [
      "For the data folder of LAZARET_PLATFORM=embedded. Whoever has a backup can read jobs and sign callbacks: keep it as safe as the data folder.",
      "Not in it: buckets, lazaret.json, the environment, certificates.",
    ],
  );
}

export function restoreCommand(): Command {
  const command = new Command("restore")
    .description("make a data folder from a backup, where there is none")
    .argument("<backup>", "as lazaret backup printed it")
    .option(...DATA_DIR)
    .option("--keys <folder>", "where secret.key and callback-signing-key.pem are, for a backup without keys")
    .option("--check", "only compare every file with its checksum, and restore nothing")
    .action(restore);
  return withExamples(
    command,
    [
      ["restore --check /var/backups/lazaret/2026-11-16T03-00-00-000Z", "whether it is whole"],
      ["restore /var/backups/lazaret/2026-11-16T03-00-00-000Z --data-dir /var/lib/lazaret", "with the service stopped"],
    ],
    [
      "The data folder must be empty, or not there. Jobs acknowledged after the backup are lost; jobs finished after it run again.",
    ],
  );
}

async function backUp(into: string, { keep, keys: withKeys, json, ...flags }: BackupFlags): Promise<void> {
  const dataDir = embeddedFolder(flags);
  if (!existsSync(join(dataDir, "jobs.db"))) {
    throw new CannotStart(
      `there are no jobs in ${dataDir}`,
      "name the server's data folder with --data-dir or LAZARET_DATA_DIR",
    );
  }
  beQuiet();
  const { makeBackup, removeOlder } = await import("../platforms/embedded/backup.ts");
  const { path, note } = await makeBackup({ dataDir, into, withKeys, now: new Date() });
  const removed = keep === undefined ? [] : await removeOlder(path, keep);
  if (json) return print({ path, removed, ...note });
  const bytes = note.files.reduce((sum, file) => sum + file.bytes, 0);
  say(`${inBytes(bytes)}: ${inRows(note.rows)}${removed.length > 0 ? `; ${removed.length} older deleted` : ""}\n`);
  out(`${path}\n`);
}

async function restore(
  backup: string,
  { check, keys, ...flags }: { dataDir?: string; keys?: string; check?: boolean },
): Promise<void> {
  const { checkBackup, restoreBackup } = await import("../platforms/embedded/restore.ts");
  if (check) {
    const { madeAt, lazaret, schema, rows, files } = await checkBackup(backup);
    const age = ago(Date.parse(madeAt), Date.now());
    print(`whole: ${files.length} files, ${age} old, by lazaret ${lazaret}, schema ${schema}: ${inRows(rows)}\n`);
    return;
  }
  const dataDir = embeddedFolder(flags);
  const { madeAt, rows } = await restoreBackup({ backup, dataDir, ...(keys !== undefined && { keys }) });
  print(`${dataDir} is as it was at ${madeAt}: ${inRows(rows)}\n`);
  say(
    [
      `That is ${ago(Date.parse(madeAt), Date.now())} ago.`,
      "What was acknowledged since then is lost: submit it again.",
      "What was done since then is done again: callbacks come twice, and receivers know them by X-Delivery-Id.",
      "Keys that were made or revoked since then are as they were: revoke them again.",
      "",
    ].join("\n"),
  );
}

function embeddedFolder(flags: { dataDir?: string }): string {
  const { settings } = loadSettings({ dataDir: flags.dataDir }, {});
  if (settings.platform === "embedded") return settings.dataDir;
  throw new CannotStart(
    `with platform ${settings.platform} there is nothing in the data folder that must last`,
    settings.platform === "postgres"
      ? "back up the database, with pg_dump or by its log: docs/upgrade.md"
      : "AWS keeps queue, table and secrets: docs/upgrade.md",
  );
}

/** The service on the same machine comes first. */
function beQuiet(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // Not everybody may, and nothing depends on it.
  }
}

function inRows(rows: Readonly<Record<string, number>>): string {
  return Object.entries(rows)
    .map(([name, count]) => `${count} ${name.replace("_", " ")}`)
    .join(", ");
}
