/** A signal to be let go of when nobody looks at it any more: the others would keep it for as long as they live. */
type Borrowed = { signal: AbortSignal } & Disposable;

/** Aborts with `signal`, or with ETIMEDOUT when the time is up. */
export function timeLimit(ms: number, signal: AbortSignal): Borrowed {
  const limit = follower([signal]);
  const tooLate = (): void => limit.abort(Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" }));
  const timer = setTimeout(tooLate, ms);
  return {
    signal: limit.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      limit[Symbol.dispose]();
    },
  };
}

/** Aborts with the first of the signals. `AbortSignal.any` does the same at many times the cost, for every callback. */
export function firstOf(signals: readonly AbortSignal[]): Borrowed {
  return follower(signals);
}

function follower(signals: readonly AbortSignal[]): Borrowed & { abort(reason: unknown): void } {
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
