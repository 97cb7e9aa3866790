/** Work that is done again and again. */
export interface Repeated extends Disposable {
  /** Does it now if it is due: for a function, whose timers stand still with it. Resolves when it is done. */
  catchUp(): Promise<void>;
}

export interface RepeatedOptions {
  everyMs: number;
  onFailure(error: Error): void;
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
}

/** Every so often, for the first time after that long, and never twice at once. */
export function repeated(work: () => Promise<unknown>, options: RepeatedOptions): Repeated {
  const { everyMs, onFailure, now = Date.now } = options;
  let begunAt = now();
  let running: Promise<void> | undefined;

  function run(): Promise<void> {
    if (running) return running;
    begunAt = now();
    running = work()
      .then(() => {}, onFailure)
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  const timer = setInterval(() => void run(), everyMs);
  timer.unref();
  return {
    async catchUp() {
      // A clock that was set back must not put it off.
      if (running || Math.abs(now() - begunAt) >= everyMs) await run();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
