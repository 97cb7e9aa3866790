import type { Callback, Job, JobSource } from "../../../../model/job.ts";

const LONGEST_ID = 128;

/** Whether it is as we write jobs. Who may send to the queue may send anything. */
export function isJob(value: unknown): value is Job {
  if (!isRecord(value)) return false;
  const { id, submittedAt, keyDigest, source, callback, report } = value;
  return (
    isText(id) &&
    id.length <= LONGEST_ID &&
    isCount(submittedAt) &&
    isText(keyDigest) &&
    isOptionalText(value.traceId) &&
    isOptionalText(value.customData) &&
    isSource(source) &&
    (callback === undefined || isCallback(callback)) &&
    (report === undefined || isReport(report)) &&
    [value.failedDownloads, value.failedScans, value.failedActions, value.failedCallbacks].every(isCount) &&
    (value.failedRuns === undefined || isCount(value.failedRuns))
  );
}

function isSource(value: unknown): value is JobSource {
  if (!isRecord(value)) return false;
  if (value.kind === "url") return isText(value.url) && isHeaders(value.headers);
  if (value.kind !== "object" || !isText(value.bucket) || !isText(value.key)) return false;
  return isOptionalText(value.version) && isOptionalText(value.address);
}

function isCallback(value: unknown): value is Callback {
  return isRecord(value) && isText(value.url) && isHeaders(value.headers);
}

function isReport(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value.verdict) || !isText(value.verdict.kind)) return false;
  return [value.sizeBytes, value.downloadSeconds, value.scanSeconds].every((each) => typeof each === "number");
}

function isHeaders(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isText);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || isText(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
