import { Busy } from "../model/faults.ts";

/**
 * Lets a bounded number of callers through at once; further ones wait in a bounded line. The next to enter is the first in
 * line of those whose key has the fewest inside, so that one key's crowd does not hold up another. Whoever entered must
 * leave exactly once, however the work ended.
 */
export interface Gate {
  /** Resolves with the way out. Throws `Busy` when the line is full, `signal.reason` when the wait is given up. */
  enter(signal: AbortSignal, key?: string): Promise<Leave>;
  readonly inside: number;
  readonly waiting: number;
}

type Leave = () => void;

interface Waiter {
  key: string;
  admit(): void;
}

export function gate(slots: number, longestLine: number = Number.POSITIVE_INFINITY): Gate {
  let inside = 0;
  const insideOf = new Map<string, number>();
  const line = new Set<Waiter>();

  function nextInLine(): Waiter | undefined {
    let next: Waiter | undefined;
    for (const waiter of line) {
      if (!next || (insideOf.get(waiter.key) ?? 0) < (insideOf.get(next.key) ?? 0)) next = waiter;
    }
    return next;
  }

  function count(key: string, change: 1 | -1): void {
    inside += change;
    const now = (insideOf.get(key) ?? 0) + change;
    if (now === 0) insideOf.delete(key);
    else insideOf.set(key, now);
  }

  function leaveOnce(key: string): Leave {
    let left = false;
    count(key, 1);
    return () => {
      if (left) return;
      left = true;
      count(key, -1);
      nextInLine()?.admit();
    };
  }

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return line.size;
    },

    async enter(signal, key = "") {
      signal.throwIfAborted();
      if (inside < slots) return leaveOnce(key);
      if (line.size >= longestLine)
        throw new Busy(`all ${slots} slots are taken and ${line.size} requests wait already`);

      return new Promise<Leave>((resolve, reject) => {
        const waiter: Waiter = {
          key,
          admit() {
            line.delete(waiter);
            signal.removeEventListener("abort", giveUp);
            resolve(leaveOnce(key));
          },
        };
        const giveUp = (): void => {
          line.delete(waiter);
          reject(signal.reason);
        };
        line.add(waiter);
        signal.addEventListener("abort", giveUp, { once: true });
      });
    },
  };
}
