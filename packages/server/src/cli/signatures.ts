import { setTimeout as pause } from "node:timers/promises";
import { Command, InvalidArgumentError } from "commander";
import type { SettingName, Settings } from "../settings.ts";
import { withExamples } from "./examples.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { timeOption } from "./flag-values.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import type { ShownDatabase, SignatureReport } from "./signatures/signature-report.ts";
import { ago, coloured, out, print, say, table } from "./terminal/output.ts";

const SETTINGS: SettingName[] = ["clamd", "dataDir", "engine", "rulesDir", "signaturesDir", "signaturesMaxAge"];
const WAIT_EVERY_MS = 1000;

interface Flags extends Record<string, unknown> {
  json?: boolean;
  wait?: boolean;
  timeout: number;
  maxAge?: number;
  folder?: string;
}

export function signaturesCommand(): Command {
  const command = new Command("signatures")
    .description("age, version and source of each database of signatures, and of the rules")
    // A flag after `update` is its own.
    .enablePositionalOptions()
    .option("--json", "as JSON")
    .option("--wait", "wait until clamd has loaded signatures that are young enough, for scripts")
    .addOption(timeOption("--timeout <time>", "with --wait: how long", "10m"))
    .option("--max-age <days>", "what is young enough; `any` takes any age, also an unknown one", days)
    .option("--folder <path>", "clamd's databases, if they are not where its configuration says");
  addSettingFlags(command, SETTINGS).action((flags: Flags) => show(flags));
  const update = command
    .command("update")
    .description("copy signatures from a folder to where clamd reads them, without a network")
    .requiredOption("--from <folder>", "with daily.cvd and others, and SHA256SUMS if there is one")
    .option(
      "--to <folder>",
      "clamd's DatabaseDirectory; by default that of the clamd in the settings, or signaturesDir for one of our own",
    )
    .option("--no-test", "do not try them in a clamd first")
    .option("--allow-older", "accept databases that are older than the present ones")
    .option("--json", "as JSON");
  addSettingFlags(update, ["clamd", "dataDir", "signaturesDir"]).action((flags: UpdateFlags) => bring(flags));
  return withExamples(
    command,
    [
      ["signatures", "what there is"],
      ["signatures --wait --timeout 15m && start-scanning", "after a boot, while freshclam and clamd still load"],
      ["signatures --json | jq .state", "young, old, unknown, unreachable or none"],
      ["signatures update --from /media/usb/clamav", "where there is no internet access"],
    ],
    [
      "Exit code: 0 clamd has loaded signatures that are young enough, 1 they are too old, 2 their age is not known, or there is no clamd, 3 clamd cannot be reached. With --wait the same, once 0 is reached or the time is up.",
      "update ends with 4 when the signatures are refused: they failed their self-test, are older, or are not what SHA256SUMS says. Then nothing was changed.",
      "The age is that of the daily database, as clamd has loaded it: main and bytecode are rarely made, and stay old for years.",
    ],
  );
}

async function show({ json = false, wait = false, timeout, maxAge, folder, ...flags }: Flags): Promise<void> {
  const { settings } = loadSettings(flags as Record<string, string>, {});
  const maxAgeDays = maxAge ?? settings.signaturesMaxAge;
  const ask = (): Promise<SignatureReport> => reportOf(settings, maxAgeDays, folder);
  const report = wait ? await youngEnough(ask, maxAgeDays, timeout) : await ask();
  if (json) print(report);
  else {
    out(table(HEADINGS, report.databases.map(row)));
    if (report.refused) out(`${coloured("warn", "refused")}: ${report.refused.databases}: ${report.refused.why}\n`);
    out(`${coloured(isGood(report, maxAgeDays) ? "ok" : "warn", report.state)}: ${report.detail}\n`);
  }
  process.exitCode = exitCode(report, maxAgeDays);
}

interface UpdateFlags extends Record<string, unknown> {
  from: string;
  to?: string;
  test: boolean;
  allowOlder?: boolean;
  json?: boolean;
}

async function bring({ from, to, test, allowOlder = false, json = false, ...flags }: UpdateFlags): Promise<void> {
  const { settings } = loadSettings(flags as Record<string, string>, {});
  const { tellClamd, updateSignatures } = await import("./signatures/update-signatures.ts");
  const done = await updateSignatures(settings, { from, to, test, allowOlder });
  const told = done.replaced.length > 0 && (await tellClamd(settings));
  if (json) return print({ ...done, reloaded: told });
  for (const name of done.replaced) out(`replaced   ${name}\n`);
  for (const name of done.unchanged) out(`unchanged  ${name}\n`);
}

async function reportOf(settings: Settings, maxAgeDays: number, folder: string | undefined): Promise<SignatureReport> {
  const { signatureReport } = await import("./signatures/signature-report.ts");
  return signatureReport(settings, { now: Date.now(), maxAgeDays, folder });
}

/** Asks until they are, or the time is up, and says so once when it has to wait. */
async function youngEnough(
  ask: () => Promise<SignatureReport>,
  maxAgeDays: number,
  timeoutMs: number,
): Promise<SignatureReport> {
  const end = performance.now() + timeoutMs;
  let said: string | undefined;
  for (;;) {
    const report = await ask();
    if (isGood(report, maxAgeDays) || performance.now() >= end) return report;
    if (said !== report.state) say(`lazaret: waiting: ${report.detail}\n`);
    said = report.state;
    await pause(Math.min(WAIT_EVERY_MS, Math.max(0, end - performance.now())));
  }
}

function isGood({ state }: SignatureReport, maxAgeDays: number): boolean {
  return state === "young" || (state === "unknown" && maxAgeDays === Number.POSITIVE_INFINITY);
}

function exitCode(report: SignatureReport, maxAgeDays: number): ExitCode {
  if (isGood(report, maxAgeDays)) return exitCodes.clean;
  if (report.state === "old") return exitCodes.infected;
  return report.state === "unreachable" ? exitCodes.unreachable : exitCodes.notScanned;
}

const HEADINGS = ["DATABASE", "VERSION", "BUILT", "AGE", "SIGNATURES", "LOADED", "SOURCE"];

function row(database: ShownDatabase): string[] {
  const { name, version, sha256, built_at: built, changed_at: changed, signatures, loaded, source } = database;
  const digest = sha256 === undefined ? "" : `sha256:${sha256.slice(0, 12)}`;
  return [
    name,
    [version ?? "", digest].filter((part) => part !== "").join(" ") || "-",
    built === undefined ? (changed === undefined ? "-" : `file of ${day(changed)}`) : day(built),
    built === undefined ? "unknown" : ago(built, Date.now()),
    signatures === undefined ? "-" : String(signatures),
    loaded === undefined ? "-" : loaded ? "yes" : "no",
    source,
  ];
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

function days(text: string): number {
  if (text === "any") return Number.POSITIVE_INFINITY;
  if (/^\d{1,4}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError("It must be a whole number of days, or any.");
}
