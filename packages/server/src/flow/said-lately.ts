const AGAIN_MS = 60_000;
const REMEMBERED = 100;

/**
 * Tells whether the same was said within the last minute: what is wrong once a second, for hours, would hide all else in the log.
 */
export function saidLately(now: () => number = () => performance.now()): (text: string) => boolean {
  const saidAt = new Map<string, number>();
  return (text) => {
    const lately = now() - (saidAt.get(text) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS;
    if (lately) return true;
    if (saidAt.size >= REMEMBERED) saidAt.clear();
    saidAt.set(text, now());
    return false;
  };
}
