import type { LifeStep } from "@lazaret/contract/admin";

export type { LifeStep };

/** What happened to a job, as it is kept with it: bounded, and without secrets. */
export interface Life {
  steps: readonly LifeStep[];
  /** Between the first and the last ones, where there were too many. */
  leftOut: number;
}

export const BEGUN: Life = { steps: [], leftOut: 0 };

/**
 * Of these the first `FIRST_STEPS` stay, and the newest.
 * @internal tested as bounds
 */
export const MOST_STEPS = 48;
/** @internal */
export const FIRST_STEPS = 16;

export function lived({ steps, leftOut }: Life, ...more: readonly LifeStep[]): Life {
  const all = [...steps, ...more];
  const over = all.length - MOST_STEPS;
  if (over <= 0) return { steps: all, leftOut };
  return { steps: [...all.slice(0, FIRST_STEPS), ...all.slice(FIRST_STEPS + over)], leftOut: leftOut + over };
}
