import {
  type CallbackPayload,
  type DownloadScanResultDetail,
  type FailedError,
  type FindingsMessage,
  findings,
} from "@lazaret/contract";
import type { Job, JobSource, ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { type ObjectRef, withoutQuery } from "../model/source.ts";
import { statusOf } from "../model/verdict.ts";
import type { CallbackFailure, FailedCallback } from "./callback-failures.ts";

/**
 * Job and report, in the words of the wire. Strings of the client are passed on as they are: JSON.stringify writes lone
 * surrogates and NUL as escapes, so they survive UTF-8.
 */
export function callbackPayload(job: Job, report: Report): CallbackPayload {
  return {
    status: statusOf(report.verdict),
    ...(report.verdict.kind !== "clean" && { finding: report.verdict.finding }),
    size: report.sizeBytes,
    download_time: report.downloadSeconds.toFixed(3),
    scan_time: report.scanSeconds.toFixed(3),
    download_url: addressOf(job.source),
    ...echoes(job, report),
  };
}

export interface DownloadScanResultOptions {
  /** The callback has finally failed: that is then the result, whatever the scan found. */
  callbackFailure?: CallbackFailure;
  /** When the download ended, in milliseconds since 1970; given when it failed. */
  downloadEndedAt?: number;
}

/** The detail of a Download Scan Result event. */
export function downloadScanResult(
  job: Job,
  report: Report,
  options: DownloadScanResultOptions = {},
): DownloadScanResultDetail {
  const urls = { download_url: addressOf(job.source), callback_url: job.callback?.url ?? "" };
  const { callbackFailure, downloadEndedAt } = options;
  if (callbackFailure) {
    return {
      ...urls,
      status: "no",
      finding: findings.callbackFailed,
      ...echoes(job, report),
      callback_failed_error: failedError(callbackFailure),
    };
  }
  const { verdict, failure } = report;
  const downloadFailed = verdict.kind === "unscannable" && verdict.finding === findings.downloadFailed;
  const attempts = job.failedDownloads + 1;
  return {
    ...urls,
    status: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    ...echoes(job, report),
    ...(downloadFailed &&
      failure && { download_failed_error: failedError({ ...failure, attempts, lastAttemptAt: downloadEndedAt }) }),
  };
}

/** What an object scan was about, and what became of it: a job, or a scan that was no job. */
export interface ObjectScan extends Pick<Job, "id" | "traceId" | "customData"> {
  /** Whose scan it was; undefined where nobody with a key asked for it. */
  tenant?: string;
  object: ObjectRef;
  report: Report;
  action: ObjectAction;
}

/** A message on the findings topic; also the detail of a Scan Result event. */
export function findingsMessage({ object, report, action, ...job }: ObjectScan): FindingsMessage {
  const version = report.object?.unversioned ? undefined : (report.object?.version ?? object.version);
  return {
    bucket: object.bucket,
    key: object.key,
    ...(version !== undefined && { version }),
    size: report.sizeBytes,
    status: statusOf(report.verdict),
    action,
    ...(report.verdict.kind !== "clean" && { finding: report.verdict.finding }),
    ...echoes(job, report),
  };
}

/** A callback that finally failed, as it is kept: for people, who have no use for the secrets in queries. */
export function failedCallback(job: Job, failure: CallbackFailure, failedAt: number): FailedCallback {
  return {
    tenant: job.tenant,
    id: job.id,
    failedAt,
    downloadUrl: shown(addressOf(job.source)),
    callbackUrl: shown(job.callback?.url ?? ""),
    error: failedError(failure),
  };
}

/** An object may have no address. */
function shown(url: string): string {
  return url === "" ? "" : withoutQuery(url);
}

function addressOf(source: JobSource): string {
  return source.kind === "url" ? source.url : (source.address ?? "");
}

function echoes(
  job: Pick<Job, "traceId" | "customData">,
  report: Report,
): Pick<CallbackPayload, "trace_id" | "custom_data" | "realfiletype"> {
  return {
    ...(job.traceId !== undefined && { trace_id: job.traceId }),
    ...(job.customData !== undefined && { custom_data: job.customData }),
    ...(report.verdict.fileType !== undefined && { realfiletype: report.verdict.fileType }),
  };
}

function failedError(failure: {
  message: string;
  code: string;
  attempts: number;
  statusCode?: number;
  lastAttemptAt: number | undefined;
}): FailedError {
  const { message, code, attempts, statusCode, lastAttemptAt } = failure;
  return {
    message,
    code,
    metadata: {
      attempts,
      ...(statusCode !== undefined && { status_code: statusCode }),
      ...(lastAttemptAt !== undefined && { last_attempt_at: new Date(lastAttemptAt).toISOString() }),
    },
  };
}
