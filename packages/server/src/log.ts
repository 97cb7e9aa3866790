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
/**
 * Every event there is. docs/logs.md says what each means and which fields it has.
 * @internal a test holds the two together
 */
export const logEvents = [
  "listening",
  "engine",
  "reloaded",
  "not_reloaded",
  "stopping",
  "stopped",
  "process",
  "request",
  "job",
  "callback",
  "receiver",
  "object_action",
  "message",
  "messages_dropped",
  "messages_waiting",
  "outbox",
  "queue",
  "dead_letters",
  "dead_letter_expired",
  "signatures",
  "clamd_found",
  "clamd_missing",
  "clamd_not_remembered",
  "clamd_not_forgotten",
  "rules_loaded",
  "rules_refused",
  "thread_lost",
  "api_keys",
  "signing_key",
] as const;

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;
export type LogLevel = (typeof logLevels)[number];
export const logLevels = ["debug", "info", "error", "silent"] as const;

export interface LogOptions {
  level: LogLevel;
  /** `json` for machines, `text` for somebody who watches a terminal. */
  format: "json" | "text";
  write(line: string): void;
  now?: () => number;
}

export function log(options: LogOptions): Log {
  const { level, format, write, now = Date.now } = options;
  const line = format === "json" ? jsonLine : textLine;
  const at =
    (severity: "debug" | "info" | "error") =>
    (event: LogEvent, fields: LogFields = {}): void => {
      if (logLevels.indexOf(severity) < logLevels.indexOf(level)) return;
      write(`${line({ time: new Date(now()).toISOString(), level: severity, event, ...fields })}\n`);
    };
  return Object.assign(at("info"), { error: at("error"), debug: at("debug") });
}

function jsonLine(fields: LogFields): string {
  return JSON.stringify(fields);
}

function textLine({ time, event, level, ...fields }: LogFields): string {
  const words = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${plain(value)}`);
  const mark = level === "error" ? "ERROR " : "";
  return [String(time).slice(11, 19), `${mark}${event}`, ...words].join(" ");
}

/** Control characters of a client never reach a terminal. */
function plain(value: unknown): string {
  const text = String(value);
  return /^[\w.:/+-]+$/.test(text) ? text : JSON.stringify(text);
}

/** Lines are written together this often: one system call for each would cost more than many a request. */
const BUFFER_MS = 10;

/** Buffers lines for a moment before they are written, and writes what is left when the process ends. */
export function buffered(write: (text: string) => void): (line: string) => void {
  let lines = "";
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (lines !== "") write(lines);
    lines = "";
  };
  process.once("exit", flush);
  return (line) => {
    lines += line;
    timer ??= setTimeout(flush, BUFFER_MS);
  };
}
