import { removeItem } from "./remove-item.ts";

/** Wakes those who wait for work in this process. */
export interface Alarm {
  /** Wakes everybody. */
  ring(): void;
  /** How often it rang, so that who checked before going to sleep knows whether it rang meanwhile. */
  readonly rings: number;
  /** Resolves when it rings, after the time, or when the signal is aborted, whichever is first. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Wakes everybody, and lets nobody sleep from then on. */
  stop(): void;
}

export function alarm(): Alarm {
  const sleepers: (() => void)[] = [];
  let rings = 0;
  let stopped = false;

  function ring(): void {
    rings += 1;
    for (const wake of [...sleepers]) wake();
  }

  return {
    get rings() {
      return rings;
    },
    ring,
    stop() {
      stopped = true;
      ring();
    },
    sleep(ms, signal) {
      if (stopped || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", wake);
          removeItem(sleepers, wake);
          resolve();
        };
        const timer = setTimeout(wake, ms);
        signal.addEventListener("abort", wake);
        sleepers.push(wake);
      });
    },
  };
}
