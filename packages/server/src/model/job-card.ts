import type { Callback, Job, JobSource, ObjectAction } from "./job.ts";
import type { Report } from "./report.ts";
import { linkForPeople, type ObjectRef, withoutQuery } from "./source.ts";

/**
 * What people may see of a job. No header values, no queries of URLs and no custom data: these are the client's secrets,
 * or may be.
 */
export interface JobCard {
  /** Undefined in what an older version kept. */
  tenant?: string;
  /** The name of the key. */
  key?: string;
  traceId?: string;
  source: SourceCard;
  callback?: { url: string; headerNames: readonly string[]; tenantId?: string };
  customDataLength?: number;
  report?: Report;
  action?: ObjectAction;
  failedDownloads: number;
  failedScans: number;
  failedActions: number;
  failedCallbacks: number;
  failedRuns: number;
  failedTrials: number;
}

type SourceCard = UrlCard | ({ kind: "object" } & ObjectRef);

interface UrlCard {
  kind: "url";
  /** With `?…` in place of its query. */
  url: string;
  headerNames: readonly string[];
  /** Their values were deleted after the scan: it cannot be fetched again as it was. */
  headersGone?: true;
}

/** One is made for every job that is done, which is why it is put together step by step. */
export function jobCard(job: Job): JobCard {
  const { tenant, key, traceId, customData, callback, report, action } = job;
  const card: JobCard = {
    tenant,
    source: sourceCard(job.source),
    failedDownloads: job.failedDownloads,
    failedScans: job.failedScans,
    failedActions: job.failedActions,
    failedCallbacks: job.failedCallbacks,
    failedRuns: job.failedRuns,
    failedTrials: job.failedTrials,
  };
  if (key !== "") card.key = key;
  if (traceId !== undefined) card.traceId = traceId;
  if (callback) card.callback = callbackCard(callback);
  if (customData !== undefined) card.customDataLength = customData.length;
  if (report) card.report = report;
  if (action) card.action = action;
  return card;
}

/** A job's source in one word, for the log. */
export function sourceWord(source: JobSource): string {
  return source.kind === "object" ? `${source.bucket}/${source.key}` : withoutQuery(source.url);
}

function callbackCard({ url, headers, tenantId }: Callback): NonNullable<JobCard["callback"]> {
  const card: NonNullable<JobCard["callback"]> = { url: linkForPeople(url), headerNames: Object.keys(headers) };
  if (tenantId !== undefined) card.tenantId = tenantId;
  return card;
}

function sourceCard(source: JobSource): SourceCard {
  if (source.kind === "object") {
    const { kind, bucket, key, version } = source;
    return { kind, bucket, key, ...(version !== undefined && { version }) };
  }
  const { kind, url, headers, deletedHeaders } = source;
  const card: UrlCard = { kind, url: linkForPeople(url), headerNames: Object.keys(headers) };
  if (!deletedHeaders || deletedHeaders.length === 0) return card;
  return { ...card, headerNames: [...card.headerNames, ...deletedHeaders], headersGone: true };
}
