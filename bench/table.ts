/** One line of a Markdown table. */
export function row(...cells: readonly (string | number)[]): string {
  return `| ${cells.join(" | ")} |`;
}

/** The first two lines of one. */
export function head(...titles: readonly string[]): string {
  return `${row(...titles)}\n|${"---|".repeat(titles.length)}`;
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function median(values: readonly number[]): number {
  return percentile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/** With as many digits as mean something. */
export function rate(perSecond: number): string {
  return perSecond.toFixed(perSecond < 100 ? 1 : 0);
}
