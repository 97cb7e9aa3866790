import { head, median, row } from "./table.ts";

/** One row of the table: what was measured, and what we want. */
export interface Target {
  work: string;
  /** One for each round, or one alone. */
  values: readonly number[];
  /** At least, or at most. */
  want: { least: number } | { most: number };
  /** Stands behind each value. */
  unit: string;
  /** What the value would be if nobody else used the cores: steadier than the clock on a machine that is shared. */
  byCpu?: number;
}

export function targetsTable(targets: readonly Target[]): string {
  return [
    head("work", "measured", "spread", "by CPU", "target", ""),
    ...targets.map(({ work, values, want, unit, byCpu }) => {
      const shown = (value: number): string => value.toFixed(unit.startsWith("MB") ? 0 : 2);
      const middle = shown(median(values));
      // By the digits that are shown, so that no row says "1.50, at most 1.50, missed".
      const reached = "least" in want ? Number(middle) >= want.least : Number(middle) <= want.most;
      return row(
        work,
        `${middle} ${unit}`,
        values.length > 1 ? `${shown(Math.min(...values))}–${shown(Math.max(...values))}` : "",
        byCpu === undefined ? "" : shown(byCpu),
        "least" in want ? `≥ ${shown(want.least)}` : `≤ ${shown(want.most)}`,
        reached ? "reached" : "missed",
      );
    }),
  ].join("\n");
}
