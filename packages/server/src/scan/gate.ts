import { Busy } from "../model/faults.ts";

/**
 * Lets a bounded number of callers through at once; further ones wait in a bounded line, first come first served.
 * Whoever entered must leave exactly once, however the work ended.
 */
export interface Gate {
  /** Resolves with the way out. Throws `Busy` when the line is full, `signal.reason` when the wait is given up. */
  enter(signal: AbortSignal): Promise<Leave>;
  readonly inside: number;
  readonly waiting: number;
}

type Leave = () => void;

interface Waiter {
  admit(): void;
}

export function gate(slots: number, longestLine: number = Number.POSITIVE_INFINITY): Gate {
  let inside = 0;
  const line = new Set<Waiter>();

  function leaveOnce(): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      inside -= 1;
      const [next] = line;
      if (next) next.admit();
    };
  }

  return {
    get inside() {
      return inside;
    },
    get waiting() {
      return line.size;
    },

    async enter(signal) {
      signal.throwIfAborted();
      if (inside < slots) {
        inside += 1;
        return leaveOnce();
      }
      if (line.size >= longestLine)
        throw new Busy(`all ${slots} slots are taken and ${line.size} requests wait already`);

      return new Promise<Leave>((resolve, reject) => {
        const waiter: Waiter = {
          admit() {
            line.delete(waiter);
            signal.removeEventListener("abort", giveUp);
            inside += 1;
            resolve(leaveOnce());
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
