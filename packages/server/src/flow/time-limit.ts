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
  return new Limit(ms, signal ? [signal] : [], reason);
}

/** Aborts with the first of the signals, for its reason, or by hand. */
export function firstOf(signals: readonly AbortSignal[]): BorrowedSignal & { abort(reason?: unknown): void } {
  return new FirstOf(signals);
}

/** Classes: an object that is written down with a getter, or with how it is disposed of, takes fifty times as long to make. */
class FirstOf implements Disposable {
  readonly signal: AbortSignal;
  readonly #own = new AbortController();
  readonly #followed: readonly AbortSignal[];
  readonly #follow = ({ target }: Event): void => this.abort((target as AbortSignal).reason);

  constructor(signals: readonly AbortSignal[]) {
    this.signal = this.#own.signal;
    this.#followed = signals;
    for (const signal of signals) {
      if (signal.aborted) this.abort(signal.reason);
      signal.addEventListener("abort", this.#follow, { once: true });
    }
  }

  abort(reason?: unknown): void {
    this.#own.abort(reason);
  }

  [Symbol.dispose](): void {
    this.unfollow();
  }

  protected unfollow(): void {
    for (const signal of this.#followed) signal.removeEventListener("abort", this.#follow);
  }
}

class Limit extends FirstOf implements TimeLimit {
  expired = false;
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number, signals: readonly AbortSignal[], reason: () => Error) {
    super(signals);
    this.#timer = setTimeout(() => {
      if (this.signal.aborted) return;
      this.expired = true;
      this.abort(reason());
    }, ms);
  }

  override [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.unfollow();
  }
}

/** Waits no longer than until the signal aborts, then throws its reason. The work itself may go on, and nobody waits for it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
    const end = (): void => signal.removeEventListener("abort", giveUp);
    work.then(
      (result) => {
        end();
        resolve(result);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}

/** Gives the work so much time, and then goes on without it, whether it heeds the signal or not. */
export async function within<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  using limit = timeLimit(ms, signal);
  return await unlessAborted(work(limit.signal), limit.signal);
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
