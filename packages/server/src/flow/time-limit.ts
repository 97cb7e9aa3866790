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
export function timeLimit(ms: number, signal?: AbortSignal): TimeLimit {
  const limit = follower(signal ? [signal] : []);
  let expired = false;
  const timer = setTimeout(() => {
    if (limit.signal.aborted) return;
    expired = true;
    limit.abort(timedOut());
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

/** Aborts with the first of the signals, for its reason. */
export function firstOf(signals: readonly AbortSignal[]): BorrowedSignal {
  return follower(signals);
}

function follower(signals: readonly AbortSignal[]): BorrowedSignal & { abort(reason: unknown): void } {
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

function timedOut(): Error {
  const error = new Error("The operation was aborted due to timeout");
  return Object.assign(error, { name: "TimeoutError", code: "ETIMEDOUT" });
}
