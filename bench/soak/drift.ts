/** One reading of something over time. */
export interface Point {
  seconds: number;
  value: number;
}

/** How much may be added between the begin and the end of what is judged: a share of what there was, and never less than so much. */
export interface Bound {
  share: number;
  atLeast: number;
}

export interface Drift {
  /** Medians of the first and of the last third. */
  first: number;
  last: number;
  /** What the line of least squares gains from the first point to the last. */
  growth: number;
  allowed: number;
  drifts: boolean;
}

/** Fewer say nothing. */
export const FEWEST_POINTS = 9;

/**
 * Something drifts when two looks agree that it grows beyond its bound:
 *
 * - the line of least squares through all points gains more than the bound. It sees slow and steady growth that is hidden in noise, for
 *   the noise is spread over all points; but one tall peak near the end tilts it.
 * - the median of the last third is above that of the first third by more than two thirds of the bound, which is what a straight line of
 *   that gain has between the middles of these thirds. A median does not mind peaks, however tall, until they are half of the points;
 *   but it knows nothing of what is between.
 *
 * To become less is no drift.
 */
export function driftOf(points: readonly Point[], bound: Bound): Drift {
  const third = Math.floor(points.length / 3);
  const first = median(points.slice(0, third));
  const last = median(points.slice(points.length - third));
  const growth = slope(points) * ((points.at(-1)?.seconds ?? 0) - (points[0]?.seconds ?? 0));
  const allowed = Math.max(bound.atLeast, bound.share * first);
  const drifts = growth > allowed && last - first > (2 / 3) * allowed;
  return { first, last, growth, allowed, drifts };
}

/** By least squares, for each second. */
function slope(points: readonly Point[]): number {
  const middle = mean(points.map(({ seconds }) => seconds));
  const level = mean(points.map(({ value }) => value));
  let [above, below] = [0, 0];
  for (const { seconds, value } of points) {
    above += (seconds - middle) * (value - level);
    below += (seconds - middle) ** 2;
  }
  return below === 0 ? 0 : above / below;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function median(points: readonly Point[]): number {
  const sorted = points.map(({ value }) => value).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
