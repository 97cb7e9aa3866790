import type { AdminActivity, AdminJobCounts, AdminScan, Verdict } from "@lazaret/contract/admin";

/**
 * Counts what this process scanned, by second for an hour and by minute for a day, in arrays that never grow: a scan is three numbers more.
 */
export interface Activity extends Counting {
  p95Ms(): number | undefined;
  errorsOfDay(): number;
  show(range: AdminActivity["range"], queue: AdminJobCounts): AdminActivity;
}

/** What is counted where it happens. */
export interface Counting {
  scanned(scan: Pick<AdminScan, "verdict" | "ms">): void;
  /** An upload or another scan without a job, to be shown by itself. */
  noteScan(scan: AdminScan): void;
  /** The engine could not be asked, or gave no verdict. */
  failed(): void;
}

const SECONDS = 3600;
const MINUTES = 1440;
const MOST_RECENT = 200;
const VERDICTS = ["clean", "infected", "no"] as const;
/** Upper ends of the histogram's steps, in ms: each a quarter more than the one before, from 1 ms to beyond an hour. */
const STEPS = 70;
const STEP_FACTOR = 1.25;

const ranges = {
  "15m": { steps: 900, seconds: 1 },
  "1h": { steps: SECONDS, seconds: 1 },
  "24h": { steps: MINUTES, seconds: 60 },
} as const;

/** Counts in columns, one place for each piece of time; a place is cleared when its time comes again. */
function ring(places: number, columns: number) {
  const counts = new Uint32Array(places * columns);
  const times = new Float64Array(places).fill(-1);
  return {
    add(time: number, column: number): void {
      const place = time % places;
      if (times[place] !== time) {
        counts.fill(0, place * columns, (place + 1) * columns);
        times[place] = time;
      }
      const at = place * columns + column;
      counts[at] = (counts[at] ?? 0) + 1;
    },
    at(time: number, column: number): number {
      const place = time % places;
      return times[place] === time ? (counts[place * columns + column] ?? 0) : 0;
    },
  };
}

export function activity(now: () => number): Activity {
  const since = now();
  const bySecond = ring(SECONDS, VERDICTS.length);
  /** The verdicts, the engine's failures, and a histogram of how long scans took. */
  const byMinute = ring(MINUTES, VERDICTS.length + 1 + STEPS);
  /** The newest last, up to twice as many as are shown. */
  let recent: AdminScan[] = [];
  const second = (): number => Math.floor(now() / 1000);
  const minute = (): number => Math.floor(now() / 60_000);

  function ofDay(column: number): number {
    const last = minute();
    let sum = 0;
    for (let time = last - MINUTES + 1; time <= last; time += 1) sum += byMinute.at(time, column);
    return sum;
  }

  function p95Ms(): number | undefined {
    const steps = Array.from({ length: STEPS }, (_, step) => ofDay(VERDICTS.length + 1 + step));
    const all = steps.reduce((sum, count) => sum + count, 0);
    if (all === 0) return undefined;
    let seen = 0;
    const step = steps.findIndex((count) => {
      seen += count;
      return seen >= all * 0.95;
    });
    return Math.round(STEP_FACTOR ** step);
  }

  return {
    scanned({ verdict, ms }) {
      const column = VERDICTS.indexOf(verdict);
      bySecond.add(second(), column);
      byMinute.add(minute(), column);
      byMinute.add(minute(), VERDICTS.length + 1 + stepOf(ms));
    },
    noteScan(scan) {
      recent.push(scan);
      if (recent.length >= 2 * MOST_RECENT) recent = recent.slice(-MOST_RECENT);
    },
    failed: () => byMinute.add(minute(), VERDICTS.length),
    p95Ms,
    errorsOfDay: () => ofDay(VERDICTS.length),
    show(range, queue) {
      const { steps, seconds } = ranges[range];
      const from = seconds === 1 ? bySecond : byMinute;
      const last = seconds === 1 ? second() : minute();
      const points = Array.from({ length: steps }, (_, index) => {
        const time = last - steps + 1 + index;
        return { at: time * seconds * 1000, ...byVerdict((column) => from.at(time, column)) };
      });
      const day = byVerdict(ofDay);
      const p95 = p95Ms();
      return {
        since,
        range,
        last_day: { scanned: day.clean + day.infected + day.no, ...day, ...(p95 !== undefined && { p95_ms: p95 }) },
        queue,
        step_seconds: seconds,
        points,
        recent: recent.slice(-MOST_RECENT).reverse(),
      };
    },
  };
}

function byVerdict(count: (column: number) => number): Record<Verdict, number> {
  const [clean, infected, no] = VERDICTS.map((_, column) => count(column));
  return { clean: clean ?? 0, infected: infected ?? 0, no: no ?? 0 };
}

function stepOf(ms: number): number {
  const step = Math.ceil(Math.log(Math.max(1, ms)) / Math.log(STEP_FACTOR));
  return Math.min(STEPS - 1, step);
}
