import { styleText } from "node:util";

/** The exit code that a shell gives to a program ended by SIGPIPE. */
const EXIT_BROKEN_PIPE = 141;
let watched = false;

/** Writes data to stdout. When its reader closes the pipe, the program ends without a message. */
export function out(text: string): void {
  if (!watched) {
    watched = true;
    process.stdout.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(EXIT_BROKEN_PIPE);
      throw error;
    });
  }
  process.stdout.write(text);
}

/** Writes everything that is not data to stderr. */
export function say(text: string): void {
  process.stderr.write(text);
}

/** Text as it is, anything else as indented JSON. */
export function print(value: unknown): void {
  out(typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`);
}

const colours = { clean: "green", ok: "green", infected: "red", fail: "red", no: "yellow", warn: "yellow" } as const;

/** A word in its colour, on a terminal that has any and without NO_COLOR. */
export function coloured(word: keyof typeof colours, shown: string = word): string {
  return styleText(colours[word], shown, { stream: process.stdout });
}

/** Rows under headings, in columns as wide as they need; control characters of clients are shown, not obeyed. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** Control characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\u00a0-\uffff]/g, (character) => JSON.stringify(character).slice(1, -1));
}

/** `3 s`, `12 min`, `5 h`, `2 d` */
export function ago(sinceMs: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - sinceMs) / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** 1,536 bytes as `1.5 KB`. */
export function inBytes(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  const value = bytes / 1024 ** power;
  return `${value.toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** 3,725 seconds as `1h 2m`. */
export function inTime(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${whole % 60}s`;
  return `${Math.floor(whole / 3600)}h ${Math.floor((whole % 3600) / 60)}m`;
}
