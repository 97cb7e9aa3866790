/** A signal that follows another one and also fires after a time. */
export interface TimeLimit {
  signal: AbortSignal;
  /** True when the time passed before the other signal fired. */
  readonly passed: boolean;
  /** To be called in any case: ends the timer and lets go of the other signal. */
  end(): void;
}

/** Timers of longer times fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Not AbortSignal.any: the first releases of Node 20 have none. */
export function timeLimit(ms: number, outer: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController();
  let passed = false;
  const follow = (): void => controller.abort(outer?.reason);
  const timer = setTimeout(
    () => {
      passed = !controller.signal.aborted;
      controller.abort(new DOMException("the time has passed", "TimeoutError"));
    },
    Math.min(ms, LONGEST_TIMER_MS),
  );
  if (outer?.aborted) follow();
  outer?.addEventListener("abort", follow, { once: true });
  return {
    signal: controller.signal,
    get passed() {
      return passed;
    },
    end() {
      clearTimeout(timer);
      outer?.removeEventListener("abort", follow);
    },
  };
}

/** Rejects with the signal's reason when it fires. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
