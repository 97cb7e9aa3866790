import {
  CALLBACK_REQUEUE_SECONDS,
  CALLBACK_REQUEUES,
  DOWNLOAD_RETRIES,
  DOWNLOAD_RETRY_SECONDS,
  findings,
} from "@lazaret/contract";
import type { CallbackFailure } from "../deliver/callback-failures.ts";
import type { Job, ScannedJob } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";

/**
 *   download failed ──passing, fewer than 3 retries──▶ again after 5, 10, 15 s ──▶ download
 *          └──────────else──────────▶ the report stands
 *
 *   engine fault ──before it looked──▶ again after 5 s, for ever
 *          ├──while it looked, fewer than 3 retries──▶ again after 5, 10, 15 s
 *          └──else──▶ not scannable
 *
 *   tag or delete failed ──fewer than 3 retries──▶ again after 5, 10, 15 s ──▶ tag or delete
 *          └──else──▶ an object that was to be deleted is tagged; else the action is `no`
 *   …of a scan that is no job: the same, with 2 retries after 0.25 and 0.5 s
 *
 *   invocation failed ──fewer than 3 re-queues──▶ again after 5, 10, 15 s ──▶ invocation (1 + 5 POSTs)
 *          └──else──▶ with ReportEventBus: an event, then done; without: buried
 */

/** Again after a while, as `job`: a job, or the counts of a scan that is none. */
export interface Again<Counts = Job> {
  kind: "again";
  afterSeconds: number;
  job: Counts;
  /** For the life of the job. */
  why: string;
}

/** What has failed of a scan so far. */
export type ScanCounts = Pick<Job, "failedDownloads" | "failedScans">;

type Buried = Extract<Settlement, { kind: "buried" }>;

export type AfterFailedCallback =
  | Again
  | Buried
  /** A Download Scan Result of this failure is to be emitted; the job is done when it has been. */
  | { kind: "event"; failure: CallbackFailure };

/** Ours: scans of one file that the engine may fail at before the file is taken for the reason, and the waits between. */
const ENGINE_RETRIES = 3;
const ENGINE_RETRY_SECONDS = 5;

/** Ours: how often tagging or deleting an object is tried again, and the waits between, times the try that failed. */
const ACTION_RETRIES = 3;
const ACTION_RETRY_SECONDS = 5;
/** The same while somebody waits for the answer. */
const ACTION_PAUSES_MS = [250, 500];

/** Ours: how long a scan that is no job waits for a database that does not take its result. */
export const QUEUE_RETRY_MS = 5000;

/** What becomes of a job whose file was fetched, or was not. */
export function afterFailedDownload<Counts extends Pick<Job, "failedDownloads">>(
  job: Counts,
  report: Report,
): Again<Counts> | { kind: "stands" } {
  if (!report.failure?.passing || job.failedDownloads >= DOWNLOAD_RETRIES) return { kind: "stands" };
  const failedDownloads = job.failedDownloads + 1;
  return {
    kind: "again",
    afterSeconds: DOWNLOAD_RETRY_SECONDS * failedDownloads,
    job: { ...job, failedDownloads },
    why: `download failed: ${report.failure.code}`,
  };
}

/**
 * What becomes of a job whose scan ended without a verdict. An engine that is down is waited for, however long; a file
 * that the engine fails over and over again is the file's fault, and is reported as not scannable.
 */
export function afterEngineFault<Counts extends Pick<Job, "failedScans">>(
  job: Counts,
  fault: { whileScanning: boolean },
): Again<Counts> | { kind: "unscannable" } {
  if (!fault.whileScanning) {
    return { kind: "again", afterSeconds: ENGINE_RETRY_SECONDS, job, why: "the engine could not be asked" };
  }
  const failedScans = job.failedScans + 1;
  if (failedScans > ENGINE_RETRIES) return { kind: "unscannable" };
  return {
    kind: "again",
    afterSeconds: ENGINE_RETRY_SECONDS * failedScans,
    job: { ...job, failedScans },
    why: "the engine failed while it scanned",
  };
}

/** What becomes of a job whose object could not be tagged or deleted. Its verdict stands either way. */
export function afterFailedAction(job: ScannedJob): Again | { kind: "given up" } {
  const failedActions = job.failedActions + 1;
  if (failedActions > ACTION_RETRIES) return { kind: "given up" };
  return {
    kind: "again",
    afterSeconds: ACTION_RETRY_SECONDS * failedActions,
    job: { ...job, failedActions },
    why: "the object could not be tagged or deleted",
  };
}

/** The same for a scan that is no job, after so many tries. */
export function afterFailedActionNow(tries: number): { kind: "wait"; ms: number } | { kind: "given up" } {
  const ms = ACTION_PAUSES_MS[tries - 1];
  return ms === undefined ? { kind: "given up" } : { kind: "wait", ms };
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
      why: `callback failed: ${failure.code}`,
    };
  }
  if (options.reportEventBus) return { kind: "event", failure };
  const reason = `${findings.callbackFailed}: ${failure.message}, ${failure.attempts} attempts`;
  return { kind: "buried", reason, job: { ...job, failedCallbacks } };
}
