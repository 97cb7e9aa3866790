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
  /** The best that this machine allows, as measured in the same run. */
  ceiling?: number | undefined;
  /** What the value would be if nobody else used the cores: steadier than the clock on a machine that is shared. */
  byCpu?: number | undefined;
}

type Judgement = "reached" | "missed" | "missed, over the ceiling";

/** By the digits that are shown, so that no table says "1.50, at most 1.50, missed". */
export function judge({ values, want, unit, ceiling }: Target): Judgement {
  const measured = shownNumber(median(values), unit);
  const best = ceiling === undefined ? undefined : shownNumber(ceiling, unit);
  if ("least" in want) {
    if (measured >= want.least) return "reached";
    return best !== undefined && best < want.least ? "missed, over the ceiling" : "missed";
  }
  if (measured <= want.most) return "reached";
  return best !== undefined && best > want.most ? "missed, over the ceiling" : "missed";
}

/** Whether all was reached that this machine allows. */
export function allReached(targets: readonly Target[]): boolean {
  return targets.every((target) => judge(target) !== "missed");
}

export function targetsTable(targets: readonly Target[]): string {
  return [
    head("work", "measured", "spread", "by CPU", "target", "ceiling", ""),
    ...targets.map((target) => {
      const { work, values, want, unit, ceiling, byCpu } = target;
      const wanted = "least" in want ? `≥ ${shown(want.least, unit)}` : `≤ ${shown(want.most, unit)}`;
      const spread = [Math.min(...values), Math.max(...values)].map((value) => shown(value, unit)).join("–");
      return row(
        work,
        `${shown(median(values), unit)} ${unit}`,
        values.length > 1 ? spread : "",
        byCpu === undefined ? "" : shown(byCpu, unit),
        `${wanted} ${unit}`,
        ceiling === undefined ? "" : shown(ceiling, unit),
        judge(target),
      );
    }),
  ].join("\n");
}

/** Whole megabytes; two digits of everything else. */
function shown(value: number, unit: string): string {
  return value.toFixed(unit === "MB" ? 0 : 2);
}

function shownNumber(value: number, unit: string): number {
  return Number(shown(value, unit));
}
