import type { Range } from "./opener.ts";

/** The stretches of 0 to `size` that none of the ranges covers, in order. */
export function gaps(covered: readonly Range[], size: number): Range[] {
  const found: Range[] = [];
  let at = 0;
  for (const { start, end } of [...covered].sort((a, b) => a.start - b.start)) {
    if (start > at) found.push({ start: at, end: Math.min(start, size) });
    at = Math.max(at, end);
    if (at >= size) return found;
  }
  if (at < size) found.push({ start: at, end: size });
  return found;
}

/** Notes what is read, in few ranges: reading goes on where it stopped, most of the time. */
export function rangeRecorder(): { add(start: number, end: number): void; ranges(): Range[] } {
  let ranges: Range[] = [];
  function merge(): void {
    const sorted = ranges.sort((a, b) => a.start - b.start);
    ranges = [];
    for (const range of sorted) {
      const last = ranges.at(-1);
      if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
      else ranges.push(range);
    }
  }
  return {
    add(start, end) {
      const last = ranges.at(-1);
      if (last && start >= last.start && start <= last.end) last.end = Math.max(last.end, end);
      else ranges.push({ start, end });
      if (ranges.length > MERGED_FROM) merge();
    },
    ranges() {
      merge();
      return ranges;
    },
  };
}

const MERGED_FROM = 10_000;
