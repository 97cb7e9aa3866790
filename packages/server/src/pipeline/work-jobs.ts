import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../log.ts";
import { Busy } from "../model/faults.ts";
import type { JobQueue } from "../queue/job-queue.ts";
import { startWorker, type Worker } from "../queue/worker.ts";
import type { Spans } from "../traces/spans.ts";
import {
  BUSY_SECONDS,
  DELIVERIES_AT_ONCE,
  DELIVERIES_PER_SHARE,
  ENGINE_PAUSE_MS,
  FINISHES_AT_ONCE,
  FINISHES_PER_SHARE,
  type ScansAtOnce,
  SLOW_AT_ONCE,
  SLOW_PER_SHARE,
  SUSPECTS_AT_ONCE,
  SUSPECTS_PER_SHARE,
} from "./limits.ts";
import { type JobStages, runJob } from "./run-job.ts";

export interface WorkOptions extends Pick<ScansAtOnce, "jobsAtOnce" | "spareJobs"> {
  queue: JobQueue;
  stages: JobStages;
  /** Of the tenants that have another weight than 1. */
  weights?: () => ReadonlyMap<string, number>;
  /** Never throws. */
  engineReady(): Promise<boolean>;
  log: Log;
  spans?: Spans | undefined;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Works off the queue. While the engine is down jobs stay in it, as each would be downloaded in vain; a job for which there
 * is no room is put back as far as it got, and no try is counted.
 */
export function workJobs(options: WorkOptions): Pick<Worker, "stop"> {
  const { queue, stages, weights, engineReady, jobsAtOnce, spareJobs, log, spans, now } = options;
  const closing = new AbortController();
  let engineDown = false;

  async function waitForEngine(): Promise<void> {
    if (engineDown) return;
    engineDown = true;
    while (!closing.signal.aborted && !(await engineReady())) {
      await pause(ENGINE_PAUSE_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
    engineDown = false;
  }

  const jobStages: JobStages = { ...stages, onEngineAway: () => void waitForEngine() };
  const worker = startWorker({
    queue,
    jobsAtOnce,
    spareJobs,
    finishesAtOnce: FINISHES_AT_ONCE,
    finishesPerShare: FINISHES_PER_SHARE,
    deliveriesAtOnce: DELIVERIES_AT_ONCE,
    deliveriesPerShare: DELIVERIES_PER_SHARE,
    slowAtOnce: SLOW_AT_ONCE,
    slowPerShare: SLOW_PER_SHARE,
    suspectsAtOnce: SUSPECTS_AT_ONCE,
    suspectsPerShare: SUSPECTS_PER_SHARE,
    ...(weights && { weights }),
    mayTake: () => !engineDown,
    log,
    spans,
    ...(now && { now }),
    async run(run, signal) {
      try {
        return await runJob(run, jobStages, signal);
      } catch (error) {
        // Thrown while the source was slow, before a trial or before the first POST.
        if (!(error instanceof Busy)) throw error;
        const { message, backInSeconds = BUSY_SECONDS } = error;
        return { kind: "again", afterSeconds: backInSeconds, job: run.progress, why: message };
      }
    },
  });

  return {
    async stop(graceMs) {
      closing.abort();
      await worker.stop(graceMs);
    },
  };
}
