import type { Finding, FindingsQuery } from "../../deliver/findings.ts";
import type { Job } from "../../model/job.ts";
import { type JobCard, jobCard } from "../../model/job-card.ts";
import { BEGUN } from "../../model/life.ts";
import { DEFAULT_TENANT } from "../../model/tenant.ts";
import { statusOf } from "../../model/verdict.ts";
import type { FinishedJob, HistoryQuery } from "../../queue/job-history.ts";

/** A job that is done, as people may see it from now on. */
export function finishedJob(job: Job, when: Pick<FinishedJob, "finishedAt" | "attempts">): FinishedJob {
  const { id, submittedAt, life = BEGUN } = job;
  return { id, submittedAt, ...when, job: jobCard(job), life };
}

/** What is searched is sealed: whoever lists opens each and asks this. */
export function isWantedJob({ submittedAt, job }: FinishedJob, query: Omit<HistoryQuery, "limit" | "after">): boolean {
  const { tenant, verdict, text } = query;
  if (!isWithin(submittedAt, query)) return false;
  if (tenant !== undefined && (job.tenant ?? DEFAULT_TENANT) !== tenant) return false;
  if (verdict !== undefined && (!job.report || statusOf(job.report.verdict) !== verdict)) return false;
  return text === undefined || holds([job.traceId, placeOf(job.source)], text);
}

export function isWantedFinding(finding: Finding, query: Omit<FindingsQuery, "limit" | "after">): boolean {
  const { tenant, verdict, text } = query;
  if (!isWithin(finding.at, query)) return false;
  if (tenant !== undefined && finding.tenant !== tenant) return false;
  if (verdict !== undefined && finding.verdict !== verdict) return false;
  const { source, traceId, requestId, sha256 } = finding;
  const place = source.kind === "upload" ? source.name : placeOf(source);
  return text === undefined || holds([finding.finding, place, traceId, requestId, sha256], text);
}

function isWithin(time: number, { since, until }: { since?: number; until?: number }): boolean {
  return (since === undefined || time >= since) && (until === undefined || time < until);
}

function placeOf(source: Exclude<Finding["source"], { kind: "upload" }> | JobCard["source"]): string {
  return source.kind === "url" ? source.url : `${source.bucket}/${source.key}`;
}

function holds(texts: readonly (string | undefined)[], wanted: string): boolean {
  const lower = wanted.toLowerCase();
  return texts.some((text) => text?.toLowerCase().includes(lower));
}
