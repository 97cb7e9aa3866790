import { randomUUID } from "node:crypto";
import { type Limiter, type LimiterOptions, limiter } from "./limiter.ts";
import type { SharedCounts } from "./shared-counts.ts";

/** The limits of keys and tenants, over all processes of the installation. */
export interface FleetLimits extends Disposable {
  limiter: Limiter;
  /** Exchanges counts now, if it is time to. Never throws: while the store is away limits hold for each process by itself. */
  exchange(): Promise<void>;
}

export interface FleetLimitsOptions extends LimiterOptions {
  sharedCounts: SharedCounts;
  everyMs: number;
}

export function startFleetLimits(options: FleetLimitsOptions): FleetLimits {
  const { sharedCounts, everyMs, elapsed } = options;
  const process = randomUUID();
  const limits = limiter(options);
  let exchangedAt = Number.NEGATIVE_INFINITY;
  let exchanging: Promise<void> | undefined;

  async function exchange(): Promise<void> {
    // A tick that comes a moment early is in time: the next one would be late.
    if (elapsed() - exchangedAt < everyMs * 0.75) return;
    const own = limits.own();
    if (own === undefined) return;
    exchangedAt = elapsed();
    await sharedCounts.exchange(process, own).then(limits.heard, () => {});
  }

  function oneAtATime(): Promise<void> {
    exchanging ??= exchange().finally(() => {
      exchanging = undefined;
    });
    return exchanging;
  }

  const timer = setInterval(() => void oneAtATime(), everyMs / 2);
  timer.unref();
  return { limiter: limits, exchange: oneAtATime, [Symbol.dispose]: () => clearInterval(timer) };
}
