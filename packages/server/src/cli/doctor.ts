import type { AdminDoctor } from "@lazaret/contract/admin";
import { Command } from "commander";
import { readSettings } from "../settings/read-settings.ts";
import type { Settings } from "../settings.ts";
import type { Check } from "./doctor/check.ts";
import { clockCheck, diskCheck, permissionChecks } from "./doctor/machine-checks.ts";
import { postgresChecks } from "./doctor/postgres-checks.ts";
import { meaningChecks, readingChecks, serverCheck } from "./doctor/service-checks.ts";
import { tenantsChecks } from "./doctor/tenants-checks.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, readSettingsFile } from "./load-settings.ts";
import { addServerFlags, type ServerFlags, serverUrl } from "./server-connection.ts";
import { coloured, out, print } from "./terminal/output.ts";

interface DoctorFlags extends ServerFlags, Record<string, unknown> {
  clamdConf?: string;
  json?: boolean;
}

const EXIT_FAILED = 1;

export function doctorCommand(): Command {
  const command = new Command("doctor")
    .description(
      "look at settings, tenants, clamd and its limits, signatures, disk, database, clock and permissions, and say what to fix",
    )
    .option("--clamd-conf <path>", "clamd's configuration, if it is not found by itself")
    .option("--json", "as JSON");
  addServerFlags(command);
  withExamples(
    command,
    [
      ["doctor", "before the first start, and when something seems wrong"],
      ["doctor --json | jq '.[] | select(.level != \"ok\")'", ""],
    ],
    ["Exit code: 0 nothing fails, 1 something does."],
  );
  return addSettingFlags(command).action((flags: DoctorFlags) => doctor(flags));
}

async function doctor({ clamdConf, json = false, url, ...flags }: DoctorFlags): Promise<void> {
  const checks = await runChecks(flags as Record<string, string>, { clamdConf, url });
  if (json) print(checks);
  else for (const check of checks) out(shown(check));
  if (checks.some(({ level }) => level === "fail")) process.exitCode = EXIT_FAILED;
}

async function runChecks(
  flags: Record<string, string>,
  { clamdConf, url }: { clamdConf: string | undefined; url: string | undefined },
): Promise<Check[]> {
  const read = readSettings({ flags, env: process.env, file: readSettingsFile() });
  const reading = readingChecks(read);
  // Without settings nobody knows which folder and which clamd to check.
  if (read.kind === "problems") return reading;
  const { settings } = read;
  const expected = url !== undefined || Boolean(process.env.LAZARET_URL);
  const server = await serverCheck({ url: serverUrl(url === undefined ? {} : { url }, settings), expected });
  return [...reading, ...(await checksOf(settings, { clamdConf, serverTime: server.time })), server.check];
}

/** What can be said of settings and machine, also by a server that runs. */
export async function checksOf(
  settings: Settings,
  { clamdConf, serverTime }: { clamdConf?: string | undefined; serverTime?: number | undefined } = {},
): Promise<Check[]> {
  const { dataDir } = settings;
  // Loaded only when used: other commands have nothing to do with clamd and databases.
  const { clamdChecks } = await import("./doctor/clamd-checks.ts");
  const { databaseChecks } = await import("./doctor/database-checks.ts");
  const now = Date.now();
  return [
    ...meaningChecks(settings),
    ...(await tenantsChecks(settings.tenantsFile)),
    ...(await clamdChecks({ settings, confPath: clamdConf, now })),
    await diskCheck(dataDir),
    ...(settings.platform === "embedded" ? databaseChecks(dataDir) : []),
    ...(settings.platform === "postgres" ? await postgresChecks(settings, now) : []),
    await clockCheck(dataDir, now, serverTime),
    ...(await permissionChecks(dataDir)),
  ];
}

/** `warn  clock         it says …` and below it what to do. */
function shown({ level, name, detail, fix }: Check): string {
  const line = `${coloured(level, level.padEnd(4))}  ${name.padEnd(12)}  ${detail}\n`;
  return fix === undefined ? line : `${line}${" ".repeat(20)}fix: ${fix}\n`;
}

/** The same for the console of a server with these settings. */
export async function consoleChecks(settings: Settings): Promise<AdminDoctor["checks"]> {
  const checks = await checksOf(settings);
  return checks.map(({ level, name, detail, fix }) => ({
    name,
    ok: level !== "fail",
    ...(level === "warn" && { warn: true }),
    detail,
    ...(fix !== undefined && { hint: fix }),
  }));
}
