/** So often, at most, it is asked whether who listens may still. */
const EVERY_MS = 1000;

/** The same texts until somebody who was let in would be let in no more: a key was revoked, a session has ended. */
export function whileIn(
  texts: AsyncIterable<string>,
  stillIn: () => boolean,
  elapsed: () => number = () => performance.now(),
): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]() {
      const each = texts[Symbol.asyncIterator]();
      let askedAt = elapsed();
      return {
        async next() {
          const next = await each.next();
          if (next.done || elapsed() - askedAt < EVERY_MS) return next;
          askedAt = elapsed();
          if (stillIn()) return next;
          // Not waited for, as it may wait for something to happen.
          each.return?.().then(undefined, () => {});
          return { done: true, value: undefined };
        },
        async return() {
          each.return?.().then(undefined, () => {});
          return { done: true, value: undefined };
        },
      };
    },
  };
}
