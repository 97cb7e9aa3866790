/**
 * A signal that is to be disposed of when the work is over: until then those it follows hold on to it. `AbortSignal.timeout`
 * and `AbortSignal.any` cannot be disposed of, hold on for as long as the time or the longest signal lasts, and cost more.
 */
type BorrowedSignal = { readonly signal: AbortSignal } & Disposable;

export type TimeLimit = BorrowedSignal & {
  /** Whether the time was up before anything else ended it. */
  readonly expired: boolean;
};

/** Aborts with `signal`, or when the time is up: with the words of `AbortSignal.timeout`, and the code ETIMEDOUT. */
export function timeLimit(ms: number, signal?: AbortSignal, reason: () => Error = timedOut): TimeLimit {
  const limit = firstOf(signal ? [signal] : []);
  let expired = false;
  const timer = setTimeout(() => {
    if (limit.signal.aborted) return;
    expired = true;
    limit.abort(reason());
  }, ms);
  return {
    signal: limit.signal,
    get expired() {
      return expired;
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      limit[Symbol.dispose]();
    },
  };
}

/** Aborts with the first of the signals, for its reason, or by hand. */
export function firstOf(signals: readonly AbortSignal[]): BorrowedSignal & { abort(reason?: unknown): void } {
  const own = new AbortController();
  const follow = ({ target }: Event): void => own.abort((target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) own.abort(signal.reason);
    signal.addEventListener("abort", follow, { once: true });
  }
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    [Symbol.dispose]() {
      for (const signal of signals) signal.removeEventListener("abort", follow);
    },
  };
}

/** Waits no longer than until the signal aborts, then throws its reason. The work itself may go on, and nobody waits for it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = (): void => reject(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  work.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener("abort", giveUp));
}

function timedOut(): Error {
  const error = new Error("The operation was aborted due to timeout");
  return Object.assign(error, { name: "TimeoutError", code: "ETIMEDOUT" });
}

/** Resolves to whether it lasted all that time. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve(!signal.aborted);
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
