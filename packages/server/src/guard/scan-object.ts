import { setTimeout as pause } from "node:timers/promises";
import type { ListedObject } from "../fetch/object-lister.ts";
import type { EngineUnavailable, QueueUnavailable } from "../model/faults.ts";
import { noFailures } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { ObjectSource } from "../model/source.ts";
import type { Verdict } from "../model/verdict.ts";
import { finishGuardedObject, type NowManner, type ObjectSteps } from "../pipeline/finish-object.ts";
import { tryToInspect } from "../pipeline/inspect.ts";
import type { ScanCounts } from "../pipeline/retry-policy.ts";
import type { GuardResult } from "./guard-bucket.ts";

export interface ScanObjectOptions {
  inspect(source: ObjectSource, signal: AbortSignal): Promise<Report>;
  /** Called with the verdict that stands. */
  onVerdict?(verdict: Verdict): void;
  objects: ObjectSteps;
  /** Answers what keeps the finding of an object, also twice. */
  findingKeeper(object: ObjectSource): NowManner["keep"];
  /** Called each time a result cannot be written down. */
  onQueueAway?(error: QueueUnavailable): void;
  /** Called each time the engine is found to be away. */
  onEngineAway?(error: EngineUnavailable): void;
  sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * Scans one object of a bucket that is guarded, by the rules of queued jobs: a store that is away for a moment is tried
 * again, an engine that is away is waited for, a file that the engine fails over again and again is not scannable.
 */
export function scanObject(
  options: ScanObjectOptions,
): (object: ListedObject, signal: AbortSignal) => Promise<GuardResult> {
  const { inspect, objects, findingKeeper, onEngineAway, onQueueAway } = options;
  const { sleep = (ms, signal) => pause(ms, undefined, { signal }) } = options;
  return async (object, signal) => {
    const { bucket, key, version } = object;
    const source: ObjectSource = { kind: "object", bucket, key, ...(version !== undefined && { version }) };
    let counts: ScanCounts = noFailures;
    for (;;) {
      const tried = await tryToInspect(counts, {
        inspect: () => inspect(source, signal),
        onEngineFault: (error) => onEngineAway?.(error),
        signal,
      });
      if (tried.kind === "scanned") {
        options.onVerdict?.(tried.report.verdict);
        const manner = { steps: objects, keep: findingKeeper(source), onQueueAway, sleep };
        const { report, action } = await finishGuardedObject(source, tried.report, manner, signal);
        return { object, report, action };
      }
      counts = tried.job;
      await sleep(tried.afterSeconds * 1000, signal);
    }
  };
}
