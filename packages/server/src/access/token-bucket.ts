/**
 * Lets so many through in a second, and after a pause as many at once as a second brings, at least one. Times are of a clock that is
 * never set, in milliseconds; one that goes back all the same brings nothing and takes nothing.
 */
export interface TokenBucket {
  /** 0 when one may go through now; else so many milliseconds until one may, as far as is known. */
  waitMs(now: number): number;
  /** Takes some, also those that are not there. */
  take(now: number, count: number): void;
  /**
   * Takes what others let through lately. What ran over meanwhile is theirs, and the rest is paid back before the next: else many who keep
   * to the rate together would be refused, because what they did in two seconds is heard of at once.
   */
  takeForOthers(now: number, count: number): void;
  /** From now on it is this rate; what it was owed stays. */
  change(now: number, perSecond: number): void;
}

/**
 * What is owed is forgotten beyond what so many seconds bring: nobody is kept out for longer.
 * @internal the test counts with it
 */
export const LONGEST_DEBT_SECONDS = 30;
/** What others let through is heard of so late. */
const LATE_SECONDS = 4;

export function tokenBucket(now: number, perSecond: number): TokenBucket {
  let rate = perSecond;
  let most = Math.max(1, rate);
  let tokens = most;
  /** What there was no room for. */
  let over = 0;
  let at = now;

  function fill(time: number): void {
    if (time > at) {
      const full = tokens + ((time - at) * rate) / 1000;
      tokens = Math.min(most, full);
      over = Math.min(over + full - tokens, LATE_SECONDS * rate);
    }
    at = time;
  }

  function take(time: number, count: number): void {
    fill(time);
    tokens = Math.max(tokens - count, -LONGEST_DEBT_SECONDS * rate);
  }

  return {
    waitMs(time) {
      fill(time);
      // Sums of parts come out a little below one.
      return tokens >= 1 - 1e-9 ? 0 : ((1 - tokens) * 1000) / rate;
    },
    take,
    takeForOthers(time, count) {
      fill(time);
      const theirs = Math.min(over, count);
      over -= theirs;
      take(time, count - theirs);
    },
    change(time, next) {
      if (next === rate) return;
      fill(time);
      rate = next;
      most = Math.max(1, rate);
      tokens = Math.max(Math.min(tokens, most), -LONGEST_DEBT_SECONDS * rate);
      over = Math.min(over, LATE_SECONDS * rate);
    },
  };
}
