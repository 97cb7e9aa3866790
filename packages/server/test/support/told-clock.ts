/** A clock that stands where it was told to, plus the little real time that passes. */
export interface ToldClock {
  now: () => number;
  advance(seconds: number): void;
  /** What somebody wanted to sleep; nobody really does. */
  sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly slept: readonly number[];
  /** Fires when the clock is told to be so far; never by itself. */
  timer: (ms: number, fire: () => void) => () => void;
  /** Timers that have not fired. */
  readonly waiting: number;
}

export function toldClock(): ToldClock {
  let aheadMs = 0;
  const slept: number[] = [];
  const timers = new Set<{ leftMs: number; fire: () => void }>();
  return {
    now: () => Date.now() + aheadMs,
    advance(seconds) {
      aheadMs += seconds * 1000;
      for (const timer of [...timers]) {
        timer.leftMs -= seconds * 1000;
        if (timer.leftMs > 0) continue;
        timers.delete(timer);
        timer.fire();
      }
    },
    async sleep(ms, signal) {
      signal.throwIfAborted();
      slept.push(ms);
    },
    slept,
    get waiting() {
      return timers.size;
    },
    timer(ms, fire) {
      const timer = { leftMs: ms, fire };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  };
}
