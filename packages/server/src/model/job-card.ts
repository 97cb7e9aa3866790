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

export function jobCard(job: Job): JobCard {
  const { tenant, key, traceId, customData, callback, report, action } = job;
  const { failedDownloads, failedScans, failedActions, failedCallbacks, failedRuns, failedTrials } = job;
  return {
    tenant,
    ...(key !== "" && { key }),
    ...(traceId !== undefined && { traceId }),
    source: sourceCard(job.source),
    ...(callback && { callback: callbackCard(callback) }),
    ...(customData !== undefined && { customDataLength: customData.length }),
    ...(report && { report }),
    ...(action && { action }),
    failedDownloads,
    failedScans,
    failedActions,
    failedCallbacks,
    failedRuns,
    failedTrials,
  };
}

/** A job's source in one word, for the log. */
export function sourceWord(source: JobSource): string {
  return source.kind === "object" ? `${source.bucket}/${source.key}` : withoutQuery(source.url);
}

/** Job after job is called back at the same URL. */
let lastCallback = { url: "", shown: "" };

function callbackCard({ url, headers, tenantId }: Callback): NonNullable<JobCard["callback"]> {
  const names = Object.keys(headers);
  if (lastCallback.url !== url) lastCallback = { url, shown: linkForPeople(url) };
  return { url: lastCallback.shown, headerNames: names, ...(tenantId !== undefined && { tenantId }) };
}

function sourceCard(source: JobSource): SourceCard {
  if (source.kind === "object") {
    const { kind, bucket, key, version } = source;
    return { kind, bucket, key, ...(version !== undefined && { version }) };
  }
  const { kind, url, headers, deletedHeaders = [] } = source;
  const headerNames = [...Object.keys(headers), ...deletedHeaders];
  return { kind, url: linkForPeople(url), headerNames, ...(deletedHeaders.length > 0 && { headersGone: true }) };
}
