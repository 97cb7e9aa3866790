import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { type Guarding, startGuarding } from "../compose/guarding.ts";
import type { GuardResult } from "../guard/guard-bucket.ts";
import { log } from "../log.ts";
import { SourceFailed } from "../model/source.ts";
import { statusOf } from "../model/verdict.ts";
import { loadSettings } from "./load-settings.ts";
import { progress, type Tally } from "./progress.ts";
import { byteCount, inBytes, inTime, moment } from "./quantities.ts";
import { addSettingFlags } from "./setting-flags.ts";
import { printable } from "./table.ts";

interface GuardFlags extends Record<string, unknown> {
  prefix?: string;
  suffix?: string;
  minSize?: number;
  maxSize?: number;
  newerThan?: number;
  watch?: boolean;
  restart?: boolean;
  json?: boolean;
}

const EXIT_INFECTED = 1;
const EXIT_NOT_SCANNED = 2;

export function guardCommand(): Command {
  const command = new Command("guard")
    .argument("<bucket>", "the bucket's name")
    .description("scan what is in a bucket; results go to the topic, the event bus and the objects' tags")
    .option("--prefix <text>", "only keys that begin so")
    .option("--suffix <text>", "only keys that end so")
    .option("--min-size <size>", "only objects of at least this size, such as 1KB", byteCount)
    .option("--max-size <size>", "only objects of at most this size, such as 100MB", byteCount)
    .option("--newer-than <when>", "only objects changed since: 7d, 12h or 2026-11-01", moment)
    .option("--watch", "then go on with objects as they come (folder store)")
    .option("--restart", "from the start, although an earlier run was interrupted")
    .option("--json", "a line of JSON for each object, instead of lines for those that are not clean")
    .addHelpText(
      "after",
      `
Examples:
  lazaret guard uploads
  lazaret guard uploads --prefix 2026/ --newer-than 7d --json
  lazaret guard uploads --watch

An interrupted run goes on where it was. Exit code: 0 all clean, 1 something infected, 2 something not scanned.`,
    );
  return addSettingFlags(command).action((bucket: string, flags: GuardFlags) => guard(bucket, flags));
}

async function guard(bucket: string, flags: GuardFlags): Promise<void> {
  const { prefix, suffix, minSize, maxSize, newerThan, watch = false, restart = false, json = false, ...rest } = flags;
  const { settings } = loadSettings(rest as Record<string, string>, {});
  const bar = progress({ terminal: process.stderr, out: (text) => process.stdout.write(text) });
  const say = log({
    level: "error",
    format: "text",
    write: (line) => {
      bar.end();
      process.stderr.write(line);
    },
  });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  const filters = {
    ...(prefix !== undefined && { prefix }),
    ...(suffix !== undefined && { suffix }),
    ...(minSize !== undefined && { minBytes: minSize }),
    ...(maxSize !== undefined && { maxBytes: maxSize }),
    ...(newerThan !== undefined && { newerThan }),
  };
  const tally: Tally = { files: 0, bytes: 0, infected: 0, notScanned: 0 };
  const startedAt = performance.now();

  await using guarding: Guarding = await startGuarding(settings, say);
  const onResult = (result: GuardResult): void => {
    count(tally, result);
    if (json) bar.line(JSON.stringify(guarding.messageOf(result)));
    else if (result.report.verdict.kind !== "clean") bar.line(inWords(result));
    bar.draw(tally);
  };
  const onTotal = (files: number): void => {
    tally.totalFiles = files;
  };
  try {
    await guarding.guard({ bucket, filters, watch, restart, onResult, onTotal }, stop.signal);
  } catch (error) {
    bar.end();
    if (!(error instanceof SourceFailed)) throw error;
    throw new CannotStart(
      `cannot guard ${bucket}: ${error.message}`,
      "check the bucket's name, LAZARET_BUCKETS_DIR and LAZARET_S3_ENDPOINT",
    );
  }
  bar.end();
  const clean = tally.files - tally.infected - tally.notScanned;
  const took = inTime((performance.now() - startedAt) / 1000);
  process.stderr.write(
    `${stop.signal.aborted ? "interrupted: " : ""}${tally.files} scanned (${inBytes(tally.bytes)}): ${clean} clean, ${tally.infected} infected, ${tally.notScanned} not scanned, ${took}\n`,
  );
  if (stop.signal.aborted && !watch) process.stderr.write(`run it again to go on\n`);
  process.exitCode = tally.infected > 0 ? EXIT_INFECTED : tally.notScanned > 0 ? EXIT_NOT_SCANNED : 0;
}

function count(tally: Tally, { report }: GuardResult): void {
  tally.files += 1;
  tally.bytes += report.sizeBytes;
  if (report.verdict.kind === "infected") tally.infected += 1;
  if (report.verdict.kind === "unscannable") tally.notScanned += 1;
}

function inWords({ object, report, action }: GuardResult): string {
  const finding = report.verdict.kind === "clean" ? "" : report.verdict.finding;
  const done = action === "no" ? "" : `  (${action})`;
  return `${statusOf(report.verdict).padEnd(8)}  ${printable(`${object.bucket}/${object.key}`)}  ${printable(finding)}${done}`;
}
