import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { inBytes, inTime } from "./output.ts";

/** Not more often, so that it neither flickers nor slows the work. */
const DRAW_MS = 100;
const BAR_CELLS = 24;
const SMALLEST_WIDTH = 20;

/** What a pass over many files has done so far. */
export interface Tally {
  files: number;
  bytes: number;
  infected: number;
  notScanned: number;
  /** How many there are in all, once that is known. */
  totalFiles?: number;
  /** And how many bytes they have, if that is known of every one. */
  totalBytes?: number;
}

export function newTally(): Tally {
  return { files: 0, bytes: 0, infected: 0, notScanned: 0 };
}

export function count(tally: Tally, status: "clean" | "infected" | "no", sizeBytes: number): void {
  tally.files += 1;
  tally.bytes += sizeBytes;
  if (status === "infected") tally.infected += 1;
  if (status === "no") tally.notScanned += 1;
}

export interface Progress {
  /** Draws it anew; on anything but a terminal nothing is drawn. */
  draw(tally: Tally): void;
  /** A line above it, on stdout. */
  line(text: string): void;
  /** Takes it away. */
  end(): void;
}

export interface ProgressOptions {
  terminal: Terminal;
  out(text: string): void;
  now?: () => number;
}

export function progress({ terminal, out, now = () => performance.now() }: ProgressOptions): Progress {
  const area = liveArea(terminal);
  const startedAt = now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    draw(tally) {
      if (now() - drawnAt < DRAW_MS) return;
      drawnAt = now();
      area.draw([progressLine(tally, (now() - startedAt) / 1000)]);
    },
    line: (text) => area.above(() => out(`${text}\n`)),
    end: area.end,
  };
}

/** The bar, the numbers, the rate and the time that is left: estimated from the number of files if it is not given. */
export function progressLine(tally: Tally, seconds: number, leftSeconds?: number): string {
  const { files, bytes, infected, notScanned, totalFiles } = tally;
  const rate = seconds > 0 ? files / seconds : 0;
  const speed = `${rate.toFixed(rate < 10 ? 1 : 0)} files/s ${inBytes(seconds > 0 ? bytes / seconds : 0)}/s`;
  const found = `${infected} infected${notScanned > 0 ? ` ${notScanned} not scanned` : ""}`;
  if (totalFiles === undefined) return `${files} files  ${speed}  ${found}`;
  const share = totalFiles === 0 ? 1 : Math.min(1, files / totalFiles);
  const eta = leftSeconds ?? (rate > 0 ? Math.max(0, totalFiles - files) / rate : undefined);
  const left = eta === undefined ? "" : `  ETA ${inTime(eta)}`;
  return `${bar(share, BAR_CELLS)} ${files}/${totalFiles}  ${speed}${left}  ${found}`;
}

/** `[######......]` */
export function bar(share: number, cells: number): string {
  return `[${"#".repeat(Math.round(share * cells)).padEnd(cells, ".")}]`;
}

/** `3 files (82 B): 2 clean, 1 infected, 0 not scanned, 1s` */
export function summary(tally: Tally, { seconds, interrupted }: { seconds: number; interrupted: boolean }): string {
  const { files, bytes, infected, notScanned } = tally;
  const clean = files - infected - notScanned;
  const counts = `${clean} clean, ${infected} infected, ${notScanned} not scanned`;
  return `${interrupted ? "interrupted: " : ""}${files} scanned (${inBytes(bytes)}): ${counts}, ${inTime(seconds)}\n`;
}

/** Only a pass that came to its end, and found everything clean, is a success. */
export function exitCodeOf(tally: Tally, whole: boolean): ExitCode {
  if (tally.infected > 0) return exitCodes.infected;
  return tally.notScanned > 0 || !whole ? exitCodes.notScanned : exitCodes.clean;
}

/** The last lines of a terminal, which are drawn again and again while other output goes on above them. */
export interface LiveArea {
  /** Draws these lines in place of the ones before; on anything but a terminal nothing is drawn. */
  draw(lines: readonly string[]): void;
  /** Writes something else above them. */
  above(write: () => void): void;
  /** Takes them away. */
  end(): void;
}

export type Terminal = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

export function liveArea(terminal: Terminal): LiveArea {
  let shown: readonly string[] = [];

  function erase(): void {
    if (shown.length > 0) terminal.write(`\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(shown.length - 1)}`);
  }
  function show(): void {
    if (shown.length > 0) terminal.write(shown.join("\n"));
  }
  return {
    draw(lines) {
      if (!terminal.isTTY) return;
      erase();
      const columns = Math.max(SMALLEST_WIDTH, (terminal.columns || 80) - 1);
      shown = lines.map((line) => fitted(line, columns));
      show();
    },
    above(write) {
      erase();
      write();
      show();
    },
    end() {
      erase();
      shown = [];
    },
  };
}

/** As much of it as one line holds: a line that wraps could not be erased. */
function fitted(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += cells(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** From Hangul on characters may be two cells wide; one cell too much is better than a line that wraps. */
function cells(character: string): number {
  return (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
}
