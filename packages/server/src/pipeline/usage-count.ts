import type { UsageMeter } from "../scan/usage-meter.ts";
import { USAGE_EVERY_MS } from "./limits.ts";

/** Counts scans, and writes them down now and then: a write for each would cost more than many a scan. */
export interface UsageCount {
  scanned(): void;
  /** With what was not written down yet. */
  thisMonth(): Promise<number>;
  /** Writes down the rest. */
  close(): Promise<void>;
}

export function usageCount(meter: UsageMeter): UsageCount {
  let unwritten = 0;

  async function write(): Promise<void> {
    const scans = unwritten;
    if (scans === 0) return;
    unwritten = 0;
    await meter.add(scans).catch(() => {
      unwritten += scans;
    });
  }

  const timer = setInterval(() => void write(), USAGE_EVERY_MS);
  timer.unref();
  return {
    scanned() {
      unwritten += 1;
    },
    thisMonth: async () => (await meter.thisMonth()) + unwritten,
    async close() {
      clearInterval(timer);
      await write();
    },
  };
}
