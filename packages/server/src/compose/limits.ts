import { type FleetLimits, startFleetLimits } from "../access/fleet-limits.ts";
import { COUNTS_SHARED_EVERY_MS } from "../pipeline/limits.ts";
import type { UsageCount } from "../pipeline/usage-count.ts";
import type { Platform } from "../platforms/platform.ts";

export interface LimitsOptions {
  platform: Pick<Platform, "queue" | "sharedCounts">;
  usage: Pick<UsageCount, "accepted" | "thisMonth">;
  now: () => number;
}

/** The limits of keys and tenants. */
export function startLimits({ platform, usage, now }: LimitsOptions): FleetLimits {
  return startFleetLimits({
    sharedCounts: platform.sharedCounts,
    everyMs: COUNTS_SHARED_EVERY_MS,
    count: usage.accepted,
    usedThisMonth: usage.thisMonth,
    jobsWaiting: platform.queue.unfinished,
    now,
    elapsed: () => performance.now(),
  });
}
