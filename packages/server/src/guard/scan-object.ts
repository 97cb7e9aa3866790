import { setTimeout as pause } from "node:timers/promises";
import { findings } from "@lazaret/contract";
import { afterEngineFault, afterFailedDownload } from "../deliver/retry-policy.ts";
import type { ListedObject } from "../fetch/object-lister.ts";
import { EngineUnavailable, QueueUnavailable } from "../model/faults.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { ObjectRef, ObjectSource } from "../model/source.ts";
import type { GuardResult } from "./guard-bucket.ts";

export interface ScanObjectOptions {
  inspect(source: ObjectSource, signal: AbortSignal): Promise<Report>;
  /** Acts on the object, and tells topic and bus. */
  finish(object: ObjectRef, report: Report): Promise<{ report: Report; action: ObjectAction }>;
  /** Told each time what is found cannot be written down. */
  onQueueAway?(error: QueueUnavailable): void;
  /** Told each time the engine is found to be away. */
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
  const {
    inspect,
    finish,
    onEngineAway,
    onQueueAway,
    sleep = (ms, signal) => pause(ms, undefined, { signal }),
  } = options;

  /** The report, or how to go on without one. */
  async function attempt(source: ObjectSource, counts: Counts, signal: AbortSignal): Promise<Report | Again> {
    try {
      const report = await inspect(source, signal);
      const next = afterFailedDownload(counts, report);
      return next.kind === "again" ? next : report;
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      onEngineAway?.(error);
      const next = afterEngineFault(counts, error);
      return next.kind === "again" ? next : ENGINE_FAILED;
    }
  }

  /** What was found is told, however long that takes: a database that is locked is waited for. */
  async function finished(
    source: ObjectSource,
    report: Report,
    signal: AbortSignal,
  ): Promise<{ report: Report; action: ObjectAction }> {
    for (;;) {
      try {
        return await finish(source, report);
      } catch (error) {
        if (!(error instanceof QueueUnavailable)) throw error;
        onQueueAway?.(error);
        await sleep(QUEUE_RETRY_MS, signal);
      }
    }
  }

  return async (object, signal) => {
    const { bucket, key, version } = object;
    const source: ObjectSource = { kind: "object", bucket, key, ...(version !== undefined && { version }) };
    let counts: Counts = { failedDownloads: 0, failedScans: 0 };
    for (;;) {
      const outcome = await attempt(source, counts, signal);
      if ("verdict" in outcome) return { object, ...(await finished(source, outcome, signal)) };
      counts = outcome.job;
      await sleep(outcome.afterSeconds * 1000, signal);
    }
  };
}

const QUEUE_RETRY_MS = 5000;

interface Counts {
  failedDownloads: number;
  failedScans: number;
}

interface Again {
  kind: "again";
  afterSeconds: number;
  job: Counts;
}

const ENGINE_FAILED: Report = {
  verdict: { kind: "unscannable", finding: findings.engineError },
  sizeBytes: 0,
  downloadSeconds: 0,
  scanSeconds: 0,
};
