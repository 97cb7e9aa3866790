import { writeSync } from "node:fs";
import { type Afterwards, afterwards, atOnce } from "./flow/afterwards.ts";

/**
 * One wide line per thing that happened: a request, a job run, a callback try, a start or a stop. No narration, and
 * never a secret: whoever logs passes fields, not objects that hold keys, headers or file contents.
 */
export interface Log {
  (event: LogEvent, fields?: LogFields): void;
  /** The same with level `error`, for what an operator should see to. */
  error(event: LogEvent, fields?: LogFields): void;
  /** The same with level `debug`, for what happens every few seconds when all is well. */
  debug(event: LogEvent, fields?: LogFields): void;
}

export type LogEvent = (typeof logEvents)[number];
/** Every event there is. docs/logs.md says what each means and which fields it has; a test holds the two together. */
export const logEvents = [
  "listening",
  "engine",
  "reloaded",
  "not_reloaded",
  "stopping",
  "stopped",
  "service_manager",
  "request",
  "job",
  "callback",
  "receiver",
  "object_action",
  "finding_not_kept",
  "message",
  "messages_dropped",
  "messages_waiting",
  "outbox",
  "queue",
  "database",
  "dead_letters",
  "dead_letter_expired",
  "signatures",
  "signatures_refused",
  "clamd",
  "clamd_found",
  "clamd_missing",
  "clamd_not_remembered",
  "clamd_not_forgotten",
  "rules_loaded",
  "rules_refused",
  "thread_lost",
  "api_keys",
  "tenants_file",
  "audit",
  "console",
  "signing_key",
  "traces",
] as const;

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;
export type LogLevel = (typeof logLevels)[number];
export const logLevels = ["debug", "info", "error", "silent"] as const;

export interface LogOptions {
  level: LogLevel;
  /** `json` for machines, `text` for somebody who watches a terminal. */
  format: "json" | "text";
  write(line: string): void;
  /** When lines are made; at once by default. */
  after?: Afterwards;
  now?: () => number;
}

export function log(options: LogOptions): Log {
  const { level, format, write, after = atOnce, now = after.now } = options;
  const line = format === "json" ? jsonLine : textLine;
  const timeOf = timeText();
  const at = (severity: "debug" | "info" | "error"): Log["error"] => {
    if (logLevels.indexOf(severity) < logLevels.indexOf(level)) return () => {};
    return (event, fields = {}) => after.add(() => write(line({ time: timeOf(now()), severity, event }, cut(fields))));
  };
  return Object.assign(at("info"), { error: at("error"), debug: at("debug") });
}

/** Characters of a field: a URL has up to 2,048, and the key of an object 1,024. */
const LONGEST_FIELD = 2100;
/** Anybody chooses it, also without a key, and may send it often. */
const LONGEST_PATH = 500;

/** Cuts what is too long, so that nobody fills a disk with few requests. */
function cut(fields: LogFields): LogFields {
  let kept = fields;
  for (const [name, value] of Object.entries(fields)) {
    const longest = name === "path" ? LONGEST_PATH : LONGEST_FIELD;
    if (typeof value === "string" && value.length > longest) kept = { ...kept, [name]: `${value.slice(0, longest)}…` };
  }
  return kept;
}

/** What every line begins with. */
interface LineHead {
  time: string;
  severity: string;
  event: LogEvent;
}

/** The head needs no escapes, so that the fields alone are left to JSON. */
function jsonLine({ time, severity, event }: LineHead, fields: LogFields): string {
  const rest = JSON.stringify(fields);
  return `{"time":"${time}","level":"${severity}","event":"${event}"${rest === "{}" ? "}" : `,${rest.slice(1)}`}\n`;
}

/** Many lines have the same millisecond, and to spell it takes longer than the rest of the line. */
function timeText(): (now: number) => string {
  let last = Number.NaN;
  let text = "";
  return (now) => {
    if (now === last) return text;
    last = now;
    text = new Date(now).toISOString();
    return text;
  };
}

function textLine({ time, severity, event }: LineHead, fields: LogFields): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${plain(value)}`);
  const mark = severity === "error" ? "ERROR " : "";
  return `${[time.slice(11, 19), `${mark}${event}`, ...words].join(" ")}\n`;
}

/** Control characters of a client never reach a terminal, nor do those that JSON lets pass: some obey U+009B as they do ESC [. */
function plain(value: unknown): string {
  const text = String(value);
  return /^[\w.:/+-]+$/.test(text) ? text : JSON.stringify(text).replace(/[\u007f-\u009f]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Lines are written together, a moment later: one system call for each would cost more than many a request. */
export function buffered(write: (lines: string) => void, after: Afterwards = afterwards()): (line: string) => void {
  let lines = "";
  const flush = (): void => {
    const text = lines;
    lines = "";
    write(text);
  };
  process.once("exit", () => after.catchUp());
  return (line) => {
    lines += line;
    // Behind the steps that have lines of their own.
    if (lines === line) after.add(flush);
  };
}

/** A reader who is behind has made some room by then. */
const AGAIN_MS = 10;
/** A reader that does not read must not keep us from ending. */
const LAST_TRIES = 200;
const LAST_PAUSE_MS = 5;

/**
 * All lines of a process, to its standard output, and the rest of them when it ends. A stream would keep to itself how much of what it was given the
 * reader could not take yet, and lose that when the process ends with an error.
 */
export function outputLines(stdout: typeof process.stdout): (lines: string | Uint8Array) => void {
  let waiting: Uint8Array[] = [];
  let again: NodeJS.Timeout | undefined;
  let isLast = false;
  let lastTries = 0;

  /** Until the reader can take no more for now. */
  function writeSome(): void {
    try {
      for (let next = waiting[0]; next; next = waiting[0]) {
        const rest = next.subarray(writeSync(stdout.fd, next));
        if (rest.length > 0) waiting[0] = rest;
        else waiting.shift();
      }
    } catch (error) {
      // For whom nobody reads, or no disk has room, none are kept; later ones may be taken.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) waiting = [];
    }
  }

  function go(): void {
    again = undefined;
    writeSome();
    if (waiting.length > 0) again = setTimeout(go, AGAIN_MS).unref();
  }

  function writeAll(): void {
    for (writeSome(); waiting.length > 0 && lastTries < LAST_TRIES; writeSome()) {
      lastTries += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_PAUSE_MS);
    }
  }

  // Who reads may go at any moment, also while we start.
  stdout.on("error", () => {});
  process.once("exit", () => {
    isLast = true;
    writeAll();
  });
  return (lines) => {
    waiting.push(typeof lines === "string" ? Buffer.from(lines) : lines);
    if (isLast) writeAll();
    else if (!again) go();
  };
}
