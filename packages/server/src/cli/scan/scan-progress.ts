import { inBytes, inTime, printable } from "../terminal/output.ts";
import { bar, liveArea, progressLine, type Tally, type Terminal } from "../terminal/progress.ts";
import type { ScanItem } from "./scan-all.ts";

/** Bars for the files under way and one for all of them, on a terminal; nothing elsewhere. */
export interface ScanProgress extends Disposable {
  start(item: ScanItem): void;
  read(item: ScanItem, bytes: number): void;
  end(item: ScanItem): void;
  /** Lets something be written above the bars. */
  above(write: () => void): void;
}

export interface ScanProgressOptions {
  terminal: Terminal & Partial<Pick<NodeJS.WriteStream, "rows">>;
  tally: Tally;
  now?: () => number;
}

interface UnderWay {
  name: string;
  totalBytes: number | undefined;
  bytes: number;
  startedAt: number;
}

const DRAW_MS = 100;
const BAR_CELLS = 16;
const MOST_BARS = 8;

export function scanProgress({ terminal, tally, now = () => performance.now() }: ScanProgressOptions): ScanProgress {
  const area = liveArea(terminal);
  const startedAt = now();
  const underWay = new Map<ScanItem, UnderWay>();
  let doneBytes = 0;
  let drawnAt = Number.NEGATIVE_INFINITY;

  function draw(): void {
    if (now() - drawnAt < DRAW_MS) return;
    drawnAt = now();
    const bars = Math.max(1, Math.min(MOST_BARS, (terminal.rows || 24) - 4));
    const shown = [...underWay.values()].slice(0, bars).map((each) => fileLine(each, now()));
    const more = underWay.size > bars ? [`… and ${underWay.size - bars} more`] : [];
    area.draw([...shown, ...more, totalLine()]);
  }

  /** Rate and remaining time count what has been read of the files under way. */
  function totalLine(): string {
    const seconds = (now() - startedAt) / 1000;
    const partBytes = [...underWay.values()].reduce((sum, each) => sum + each.bytes, 0);
    const bytes = tally.bytes + partBytes;
    const leftBytes = tally.totalBytes === undefined ? undefined : tally.totalBytes - doneBytes - partBytes;
    const left = leftBytes === undefined || bytes === 0 ? undefined : (Math.max(0, leftBytes) * seconds) / bytes;
    return progressLine({ ...tally, bytes }, seconds, left);
  }

  // Also while nothing is read, as the server may still scan. Not before the first file, which is drawn at once.
  const timer = terminal.isTTY ? setInterval(() => underWay.size > 0 && draw(), DRAW_MS).unref() : undefined;
  return {
    start(item) {
      const totalBytes = item.kind === "file" ? item.sizeBytes : undefined;
      underWay.set(item, { name: item.name, totalBytes, bytes: 0, startedAt: now() });
      draw();
    },
    read(item, bytes) {
      const entry = underWay.get(item);
      if (entry) entry.bytes = bytes;
    },
    end(item) {
      if (item.kind === "file") doneBytes += item.sizeBytes;
      underWay.delete(item);
      draw();
    },
    above: area.above,
    [Symbol.dispose]() {
      clearInterval(timer);
      area.end();
    },
  };
}

/**
 * `[########........]  50%  12.0 MB/s  ETA 3s  uploads/big.iso`
 * @internal a test shows single lines
 */
export function fileLine({ name, totalBytes, bytes, startedAt }: UnderWay, now: number): string {
  const seconds = (now - startedAt) / 1000;
  const rate = seconds > 0 ? bytes / seconds : 0;
  const shown = printable(name);
  if (totalBytes === undefined || totalBytes === 0) return `${inBytes(bytes)}  ${inBytes(rate)}/s  ${shown}`;
  const share = Math.min(1, bytes / totalBytes);
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const left = share === 1 ? "scanning" : rate > 0 ? `ETA ${inTime((totalBytes - bytes) / rate)}` : "ETA …";
  return `${bar(share, BAR_CELLS)} ${percent}  ${inBytes(rate)}/s  ${left}  ${shown}`;
}
