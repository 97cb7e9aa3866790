import { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import type { Guarding } from "../compose/guarding.ts";
import type { GuardResult } from "../guard/guard-bucket.ts";
import { log } from "../log.ts";
import { SourceFailed } from "../model/source.ts";
import { statusOf } from "../model/verdict.ts";
import { withExamples } from "./examples.ts";
import { byteCount, moment } from "./flag-values.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { coloured, out, printable, say } from "./terminal/output.ts";
import { count, exitCodeOf, newTally, progress, summary } from "./terminal/progress.ts";

interface GuardFlags extends Record<string, unknown> {
  prefix?: string;
  suffix?: string;
  minSize?: number;
  maxSize?: number;
  /** As it was written, and the moment it means. */
  newerThan?: { text: string; at: number };
  watch?: boolean;
  restart?: boolean;
  json?: boolean;
}

export function guardCommand(): Command {
  const command = new Command("guard")
    .argument("<bucket>", "the bucket's name")
    .description("scan what is in a bucket; results go to the topic, the event bus and the objects' tags")
    .option("--prefix <text>", "only keys that begin with this")
    .option("--suffix <text>", "only keys that end with this")
    .option("--min-size <size>", "only objects of at least this size, such as 1KB", byteCount)
    .option("--max-size <size>", "only objects of at most this size, such as 100MB", byteCount)
    .option("--newer-than <when>", "only objects changed since: 7d, 12h or 2026-11-01", (text) => ({
      text,
      at: moment(text),
    }))
    .option("--watch", "then scan new objects as they come (folder store)")
    .option("--restart", "from the start, even if an earlier run was interrupted")
    .option("--json", "a line of JSON for each object, instead of lines for those that are not clean");
  withExamples(
    command,
    [
      ["guard uploads", "everything in the bucket"],
      ["guard uploads --prefix 2026/ --newer-than 7d --json", "what came this week"],
      ["guard uploads --watch", "and what comes later"],
    ],
    [
      "An interrupted run resumes where it stopped.",
      "Exit code: 0 all clean, 1 something infected, 2 something not scanned.",
    ],
  );
  return addSettingFlags(command).action((bucket: string, flags: GuardFlags) => guard(bucket, flags));
}

async function guard(bucket: string, flags: GuardFlags): Promise<void> {
  const { prefix, suffix, minSize, maxSize, newerThan, watch = false, restart = false, json = false, ...rest } = flags;
  const { settings } = loadSettings(rest as Record<string, string>, {});
  const bar = progress({ terminal: process.stderr, out });
  const logger = log({
    level: "error",
    format: "text",
    write: (line) => {
      bar.end();
      say(line);
    },
  });
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  // It watches for as long as a service runs, and has nothing to read again: rules are checked every two seconds.
  if (watch) process.on("SIGHUP", () => {});
  const filters = {
    ...(prefix !== undefined && { prefix }),
    ...(suffix !== undefined && { suffix }),
    ...(minSize !== undefined && { minBytes: minSize }),
    ...(maxSize !== undefined && { maxBytes: maxSize }),
    ...(newerThan !== undefined && { newerThan: newerThan.at }),
  };
  const tally = newTally();
  const startedAt = performance.now();

  const { startGuarding } = await import("../compose/guarding.ts");
  await using guarding: Guarding = await startGuarding(settings, logger);
  const onResult = (result: GuardResult): void => {
    count(tally, statusOf(result.report.verdict), result.report.sizeBytes);
    if (json) bar.line(JSON.stringify(guarding.messageOf(result)));
    else if (result.report.verdict.kind !== "clean") bar.line(inWords(result));
    bar.draw(tally);
  };
  const onTotal = (files: number): void => {
    tally.totalFiles = files;
  };
  try {
    await guarding.guard(
      { bucket, filters, named: { ...filters, newerThan: newerThan?.text }, watch, restart, onResult, onTotal },
      stop.signal,
    );
  } catch (error) {
    bar.end();
    if (!(error instanceof SourceFailed)) throw error;
    throw new CannotStart(
      `cannot guard ${bucket}: ${error.message}`,
      "check the bucket's name, LAZARET_BUCKETS_DIR and LAZARET_S3_ENDPOINT",
    );
  }
  bar.end();
  const interrupted = stop.signal.aborted;
  say(summary(tally, { seconds: (performance.now() - startedAt) / 1000, interrupted }));
  if (interrupted && !watch) say("run it again to go on\n");
  process.exitCode = exitCodeOf(tally, watch || !interrupted);
}

function inWords({ object, report, action }: GuardResult): string {
  const finding = report.verdict.kind === "clean" ? "" : report.verdict.finding;
  const done = action === "no" ? "" : `  (${action})`;
  const status = statusOf(report.verdict);
  return `${coloured(status, status.padEnd(8))}  ${printable(`${object.bucket}/${object.key}`)}  ${printable(finding)}${done}`;
}
