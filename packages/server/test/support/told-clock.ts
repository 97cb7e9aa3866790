/** A clock that stands where it was told to, plus the little real time that passes. */
export interface ToldClock {
  now: () => number;
  advance(seconds: number): void;
  /** What somebody wanted to sleep; nobody really does. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly slept: readonly number[];
}

export function toldClock(): ToldClock {
  let aheadMs = 0;
  const slept: number[] = [];
  return {
    now: () => Date.now() + aheadMs,
    advance(seconds) {
      aheadMs += seconds * 1000;
    },
    async sleep(ms, signal) {
      signal.throwIfAborted();
      slept.push(ms);
    },
    slept,
  };
}
