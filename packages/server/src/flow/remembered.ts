/**
 * Asks at most once in a while, however many want to know, and answers the same until then: for `atLeastMs`, and for
 * `timesAsLong` as asking took. Those who come while it is being asked get that answer. An error is remembered too.
 */
export function remembered<T>(
  atLeastMs: number,
  ask: () => Promise<T>,
  { timesAsLong = 20, now = () => performance.now() }: { timesAsLong?: number; now?: () => number } = {},
): () => Promise<T> {
  let answer: { promise: Promise<T>; until: number } | undefined;
  return () => {
    if (answer && now() < answer.until) return answer.promise;
    const began = now();
    const asked = { promise: ask(), until: Number.POSITIVE_INFINITY };
    answer = asked;
    const settle = (): void => {
      asked.until = began + Math.max(atLeastMs, (now() - began) * timesAsLong);
    };
    asked.promise.then(settle, settle);
    return asked.promise;
  };
}
