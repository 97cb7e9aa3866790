/** What was asked took so much of the time at most. */
const SHARE = 20;

/**
 * Asks at most once in a while, however many want to know, and answers the same until then: for `atLeastMs`, and for longer
 * when asking took long. Those who come while it is being asked get that answer. An error is remembered too.
 */
export function remembered<T>(
  atLeastMs: number,
  ask: () => Promise<T>,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let answer: { promise: Promise<T>; until: number } | undefined;
  return () => {
    if (answer && now() < answer.until) return answer.promise;
    const began = now();
    const asked = { promise: ask(), until: Number.POSITIVE_INFINITY };
    answer = asked;
    const settle = (): void => {
      asked.until = began + Math.max(atLeastMs, (now() - began) * SHARE);
    };
    asked.promise.then(settle, settle);
    return asked.promise;
  };
}
