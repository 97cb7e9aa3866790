import {
  CALLBACK_REQUEUE_SECONDS,
  CALLBACK_REQUEUES,
  CALLBACK_RETRIES,
  CALLBACK_RETRY_SECONDS,
  DOWNLOAD_RETRIES,
  DOWNLOAD_RETRY_SECONDS,
  findings,
} from "@lazaret/contract";
import type { Job } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import type { CallbackFailure } from "./callback/failure.ts";

/**
 *   download failed ──passing, fewer than 3 retries──▶ again after 5, 10, 15 s ──▶ download
 *          └──────────else──────────▶ the report stands
 *
 *   engine fault ──before it looked──▶ again after 5 s, for ever
 *          ├──while it looked, fewer than 3 retries──▶ again after 5, 10, 15 s
 *          └──else──▶ not scannable
 *
 *   tag or delete failed ──fewer than 3 retries──▶ again after 5, 10, 15 s ──▶ tag or delete
 *          └──else──▶ the action is `no`
 *
 *   invocation failed ──fewer than 3 re-queues──▶ again after 5, 10, 15 s ──▶ invocation (1 + 5 POSTs)
 *          └──else──▶ with ReportEventBus: an event, then done; without: buried
 */
/** Counts what failed: a job, or a scan that is none. */
interface Again<Counts = Job> {
  kind: "again";
  afterSeconds: number;
  job: Counts;
}
type Buried = Extract<Settlement, { kind: "buried" }>;

/** A job that goes back to the queue with its report is never downloaded or scanned again. */
export type ScannedJob = Job & { report: Report };

export type AfterFailedCallback =
  | Again
  | Buried
  /** A Download Scan Result of this failure is to be emitted; the job is done when it has been. */
  | { kind: "event"; failure: CallbackFailure };

/** POSTs of one invocation. */
const POSTS_PER_INVOCATION: number = 1 + CALLBACK_RETRIES;

/** Ours: scans of one file that the engine may fail at before the file is taken for the reason, and the waits between. */
const ENGINE_RETRIES = 3;
const ENGINE_RETRY_SECONDS = 5;

/** Ours: how often tagging or deleting an object is tried again, and the waits between, times the try that failed. */
const ACTION_RETRIES = 3;
const ACTION_RETRY_SECONDS = 5;

/** By how much of itself a wait is made longer or shorter at most, so that jobs that failed together part. */
const JITTER = 0.2;

/** What becomes of a job whose file was looked for, and perhaps not read. */
export function afterFailedDownload<Counts extends Pick<Job, "failedDownloads">>(
  job: Counts,
  report: Report,
): Again<Counts> | { kind: "stands" } {
  if (!report.failure?.passing || job.failedDownloads >= DOWNLOAD_RETRIES) return { kind: "stands" };
  const failedDownloads = job.failedDownloads + 1;
  return { kind: "again", afterSeconds: DOWNLOAD_RETRY_SECONDS * failedDownloads, job: { ...job, failedDownloads } };
}

/**
 * What becomes of a job whose scan ended without a verdict. An engine that is down is waited for, however long; a file
 * that the engine fails over and over again is the file's fault, and is reported as not scannable.
 */
export function afterEngineFault<Counts extends Pick<Job, "failedScans">>(
  job: Counts,
  fault: { whileLooking: boolean },
): Again<Counts> | { kind: "unscannable" } {
  if (!fault.whileLooking) return { kind: "again", afterSeconds: ENGINE_RETRY_SECONDS, job };
  const failedScans = job.failedScans + 1;
  if (failedScans > ENGINE_RETRIES) return { kind: "unscannable" };
  return { kind: "again", afterSeconds: ENGINE_RETRY_SECONDS * failedScans, job: { ...job, failedScans } };
}

/** What becomes of a job whose object could not be tagged or deleted. Its verdict stands either way. */
export function afterFailedAction(job: ScannedJob): Again | { kind: "given up" } {
  const failedActions = job.failedActions + 1;
  if (failedActions > ACTION_RETRIES) return { kind: "given up" };
  return { kind: "again", afterSeconds: ACTION_RETRY_SECONDS * failedActions, job: { ...job, failedActions } };
}

/** What becomes of a job after an invocation that failed with all its POSTs. */
export function afterFailedCallback(
  job: ScannedJob,
  failure: CallbackFailure,
  options: { reportEventBus: boolean },
): AfterFailedCallback {
  const failedCallbacks = job.failedCallbacks + 1;
  if (failedCallbacks <= CALLBACK_REQUEUES) {
    return {
      kind: "again",
      afterSeconds: CALLBACK_REQUEUE_SECONDS * failedCallbacks,
      job: { ...job, failedCallbacks },
    };
  }
  if (options.reportEventBus) return { kind: "event", failure };
  const reason = `${findings.callbackFailed}: ${failure.message}, ${failure.attempts} attempts`;
  return { kind: "buried", reason, job: { ...job, failedCallbacks } };
}

/** The wait before a retry inside an invocation, the first being 1: 0.25, 0.5, 1, 2, 4 s, each give or take a fifth. */
export function retryWaitMs(retry: number, random: () => number): number {
  const seconds = CALLBACK_RETRY_SECONDS * 2 ** (retry - 1);
  return Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * random()));
}

/** X-Delivery-Attempt: the POSTs of a job are counted over its invocations. */
export function attemptNumber(job: Job, retry: number): number {
  return job.failedCallbacks * POSTS_PER_INVOCATION + retry + 1;
}
