import type { Job, JobSource } from "../model/job.ts";
import type { Report } from "../model/report.ts";

/**
 * What people may see of a job. No header values, no queries of URLs and no custom data: these are the client's secrets,
 * or may be.
 */
export interface JobCard {
  traceId?: string;
  source: SourceCard;
  callback?: { url: string; headerNames: readonly string[] };
  customDataLength?: number;
  report?: Report;
  failedDownloads: number;
  failedScans: number;
  failedCallbacks: number;
}

interface SourceCard {
  kind: "url";
  url: string;
  headerNames: readonly string[];
}

export function jobCard(job: Job): JobCard {
  const { traceId, customData, callback, report, failedDownloads, failedScans, failedCallbacks } = job;
  return {
    ...(traceId !== undefined && { traceId }),
    source: sourceCard(job.source),
    ...(callback && { callback: { url: withoutQuery(callback.url), headerNames: Object.keys(callback.headers) } }),
    ...(customData !== undefined && { customDataLength: customData.length }),
    ...(report && { report }),
    failedDownloads,
    failedScans,
    failedCallbacks,
  };
}

function sourceCard(source: JobSource): SourceCard {
  return { kind: source.kind, url: withoutQuery(source.url), headerNames: Object.keys(source.headers) };
}

/** Nor with a user name, password or fragment. */
function withoutQuery(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : "(not a URL)";
}
