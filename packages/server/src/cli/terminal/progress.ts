import { liveArea, type Terminal } from "./live-area.ts";
import { inBytes, inTime } from "./quantities.ts";
import type { Tally } from "./tally.ts";

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

/** So that it does not flicker, nor slow the work. */
const DRAW_MS = 100;
const BAR_CELLS = 24;

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

/** The bar, the numbers, the rate and the time that is left: by the files, if nobody knows better. */
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
