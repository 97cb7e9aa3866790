import { setTimeout as pause } from "node:timers/promises";

/** On a machine that others keep busy everything takes longer; who waits for what never comes waits so long. */
export const PATIENCE_MS = 30_000;

/** Waits for a condition, not for a time; fails with its name when it does not come true within the limit. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  options: { limitMs?: number } = {},
): Promise<void> {
  const limitMs = options.limitMs ?? PATIENCE_MS;
  const deadline = Date.now() + limitMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await pause(10);
  }
}
