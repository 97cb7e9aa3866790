import { Command, Option } from "commander";
import { log } from "../log.ts";
import { withExamples } from "./examples.ts";
import { repeated, wholeNumber } from "./flag-values.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { formats } from "./scan/formats.ts";
import { type ScanItem, type Scanner, scanAll } from "./scan/scan-all.ts";
import { scanProgress } from "./scan/scan-progress.ts";
import { localScanner, serverScanner } from "./scan/scanners.ts";
import { glob, itemsOf, parseTargets } from "./scan/targets.ts";
import { addServerFlags, connect, type ServerFlags } from "./server-connection.ts";
import { out, say } from "./terminal/output.ts";
import { count, exitCodeOf, newTally, summary, type Tally } from "./terminal/progress.ts";

interface ScanFlags extends ServerFlags, Record<string, unknown> {
  local?: boolean;
  recursive: boolean;
  include: string[];
  exclude: string[];
  concurrency: number;
  format: keyof typeof formats;
  json?: boolean;
  quiet?: boolean;
}

const LOCAL_SETTINGS = ["engine", "clamd", "rulesDir", "allowNetworks"] as const;

export function scanCommand(): Command {
  const command = new Command("scan")
    .argument("<target...>", "files, folders, - for stdin, s3://bucket/key or https://… for what the server can read")
    .description("scan files with a server or, with --local, without one")
    .option("--local", "scan in this process, with no server")
    .option("--include <glob>", "only these of the files in folders; may be repeated", repeated, [])
    .option("--exclude <glob>", "skip these files and folders; may be repeated", repeated, [])
    .option("--no-recursive", "only the files of a folder itself, not of folders in it")
    .option("--concurrency <number>", "files at once", wholeNumber, 4)
    .addOption(new Option("--format <format>", "how results are written").choices(Object.keys(formats)).default("text"))
    .option("--json", "a line of JSON for each file; short for --format json")
    .option("-q, --quiet", "no lines for files that are clean");
  addServerFlags(command);
  withExamples(
    command,
    [
      ["scan report.pdf", "with lazaret dev, or the server at LAZARET_URL"],
      ["scan --local ~/Downloads", "with no server"],
      ["scan . --exclude node_modules --exclude '*.log'", "a folder, and everything in it"],
      ["scan --json uploads | jq 'select(.status != \"clean\")'", ""],
      ["scan --format clamscan uploads", "for scripts that read clamscan's output"],
      ["eicar | lazaret scan -", "the harmless test file: infected"],
      ["scan s3://uploads/report.pdf https://files.example.com/a.zip", "read by the server"],
    ],
    [
      "Folders are scanned with all folders in them. Links inside them are not followed; pipes and sockets are skipped.",
      "A glob with a slash matches the path below the folder you name, one without matches a name at any depth. A file or folder you name yourself is always scanned.",
      "A server takes at most 200 MB for each file, --local 2,000 MiB.",
      "Exit code: 0 all clean, 1 something infected, 2 something not scanned, 3 no server, 4 refused by it.",
    ],
  );
  return addSettingFlags(command, LOCAL_SETTINGS).action((targets: string[], flags: ScanFlags) => scan(targets, flags));
}

async function scan(texts: readonly string[], flags: ScanFlags): Promise<void> {
  const targets = parseTargets(texts);
  const format = formats[flags.json ? "json" : flags.format];
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const filters = { recursive: flags.recursive, include: flags.include.map(glob), exclude: flags.exclude.map(glob) };
  const tally = newTally();
  let folders = 0;
  await using scanner = flags.local ? await inThisProcess(flags) : await serverScanner(connect(flags), stop.signal);
  const startedAt = performance.now();
  const bars = scanProgress({ terminal: process.stderr, tally });
  if (process.stderr.isTTY) void countTotals(tally, itemsOf(targets, filters), stop.signal);
  try {
    const items = itemsOf(targets, { ...filters, onFolder: () => void folders++ });
    await scanAll(
      items,
      {
        scanner,
        atOnce: flags.concurrency,
        onStart: bars.start,
        onBytes: bars.read,
        onResult(item, scanned) {
          count(tally, scanned.status, scanned.size ?? 0);
          bars.end(item);
          if (flags.quiet && scanned.status === "clean") return;
          bars.above(() => out(`${format.line(item.name, scanned)}\n`));
        },
      },
      stop.signal,
    );
  } finally {
    bars[Symbol.dispose]();
    const seconds = (performance.now() - startedAt) / 1000;
    const end = format.end({ tally, folders, seconds });
    if (end !== "") out(end);
    else say(summary(tally, { seconds, interrupted: stop.signal.aborted }));
  }
  process.exitCode = exitCodeOf(tally, !stop.signal.aborted);
}

/** Scans with the engine of the settings, and warns about what it cannot do. */
async function inThisProcess(flags: ScanFlags): Promise<Scanner> {
  const given = Object.fromEntries(LOCAL_SETTINGS.map((name) => [name, flags[name] as string | undefined]));
  const { settings } = loadSettings(given, {});
  const { startLocalScan } = await import("../compose/scanning.ts");
  const logger = log({ level: "error", format: "text", write: say });
  const local = await startLocalScan(settings, flags.concurrency, logger);
  for (const { ok, name, detail } of local.checks) if (!ok) say(`lazaret: ${name}: ${detail}\n`);
  if (local.withoutClamd) {
    say(
      "lazaret: scanning without clamd: only test files and the rules in --rules-dir are known, not the world's malware\n",
    );
  }
  return localScanner(local);
}

/** Counts what there is to do while it is being done. */
async function countTotals(tally: Tally, items: AsyncIterable<ScanItem>, signal: AbortSignal): Promise<void> {
  let [files, bytes] = [0, 0];
  for await (const item of items) {
    if (signal.aborted) return;
    files += 1;
    bytes += item.kind === "file" ? item.sizeBytes : Number.NaN;
  }
  tally.totalFiles = files;
  if (!Number.isNaN(bytes)) tally.totalBytes = bytes;
}
