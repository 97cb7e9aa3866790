import { inBytes, inTime } from "./quantities.ts";

/** What a pass over many files has done so far. */
export interface Tally {
  files: number;
  bytes: number;
  infected: number;
  notScanned: number;
  /** How many there are in all, once that is known. */
  totalFiles?: number;
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
  terminal: Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;
  out(text: string): void;
  now?: () => number;
}

/** So that it does not flicker, nor slow the work. */
const DRAW_MS = 100;
const BAR_CELLS = 24;

export function progress({ terminal, out, now = () => performance.now() }: ProgressOptions): Progress {
  const startedAt = now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  let shown = "";

  const erase = (): void => {
    if (shown !== "") terminal.write("\r\x1b[2K");
  };
  return {
    draw(tally) {
      if (!terminal.isTTY || now() - drawnAt < DRAW_MS) return;
      drawnAt = now();
      erase();
      shown = progressLine(tally, (now() - startedAt) / 1000).slice(0, Math.max(20, (terminal.columns ?? 80) - 1));
      terminal.write(shown);
    },
    line(text) {
      erase();
      out(`${text}\n`);
      if (shown !== "") terminal.write(shown);
    },
    end() {
      erase();
      shown = "";
    },
  };
}

/** The bar, the numbers, the rate and the time that is left. */
export function progressLine({ files, bytes, infected, notScanned, totalFiles }: Tally, seconds: number): string {
  const rate = seconds > 0 ? files / seconds : 0;
  const speed = `${rate.toFixed(rate < 10 ? 1 : 0)} files/s ${inBytes(seconds > 0 ? bytes / seconds : 0)}/s`;
  const found = `${infected} infected${notScanned > 0 ? ` ${notScanned} not scanned` : ""}`;
  if (totalFiles === undefined) return `${files} files  ${speed}  ${found}`;
  const share = totalFiles === 0 ? 1 : Math.min(1, files / totalFiles);
  const bar = "#".repeat(Math.round(share * BAR_CELLS)).padEnd(BAR_CELLS, ".");
  const left = rate > 0 ? `  ETA ${inTime(Math.max(0, totalFiles - files) / rate)}` : "";
  return `[${bar}] ${files}/${totalFiles}  ${speed}${left}  ${found}`;
}
