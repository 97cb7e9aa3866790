import type {
  AdminDeadLetter,
  AdminFinding,
  AdminJob,
  AdminScan,
  AdminSource,
  JobStateName,
} from "@lazaret/contract/admin";
import type { Finding, FindingSource } from "../deliver/findings.ts";
import type { Job } from "../model/job.ts";
import { type JobCard, jobCard } from "../model/job-card.ts";
import type { Report } from "../model/report.ts";
import { type Source, withoutQuery } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import { statusOf } from "../model/verdict.ts";
import type { FinishedJob } from "../queue/job-history.ts";
import type { DeadLetter, JobEntry, JobState } from "../queue/job-queue.ts";

/** Jobs, findings and scans in the words of /admin/v1. */

const stateNames: Record<JobState, JobStateName> = {
  ready: "queued",
  leased: "under_way",
  delayed: "retrying",
  buried: "dead",
};

export function shownEntry({ id, state, submittedAt, attempts, dueAt, job, life }: JobEntry): AdminJob {
  const reason = state === "buried" ? life?.steps.findLast(({ what }) => what === "buried")?.detail : undefined;
  return {
    id,
    state: stateNames[state],
    submitted_at: submittedAt,
    attempts,
    ...(dueAt !== undefined && { due_at: dueAt }),
    ...ofCard(job),
    ...(reason !== undefined && { reason }),
  };
}

export function shownFinished({ id, submittedAt, finishedAt, attempts, job }: FinishedJob): AdminJob {
  return { id, state: "done", submitted_at: submittedAt, finished_at: finishedAt, attempts, ...ofCard(job) };
}

/** As it is in this moment, for the event stream. */
export function shownJob(job: Job, state: JobStateName, more: Partial<AdminJob> = {}): AdminJob {
  return { id: job.id, state, submitted_at: job.submittedAt, attempts: 0, ...ofCard(jobCard(job)), ...more };
}

/** What nobody can read any more has no more than its id. */
const UNREADABLE = { tenant: "", source: { kind: "upload" }, failed_callbacks: 0 } as const;

function ofCard(
  job: JobCard | undefined,
): Omit<AdminJob, "id" | "state" | "submitted_at" | "finished_at" | "due_at" | "attempts" | "reason"> {
  if (!job) return UNREADABLE;
  const { tenant = "", key, traceId, source, callback, report, failedCallbacks } = job;
  return {
    tenant,
    ...(key !== undefined && { key }),
    ...(traceId !== undefined && { trace_id: traceId }),
    source: shownSource(source),
    ...(report && ofReport(report)),
    ...(callback && { callback_url: callback.url }),
    failed_callbacks: failedCallbacks,
  };
}

function ofReport({ verdict, sizeBytes }: Report): Pick<AdminJob, "verdict" | "finding" | "size" | "type"> {
  return {
    verdict: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    size: sizeBytes,
    ...(verdict.fileType !== undefined && { type: verdict.fileType }),
  };
}

function shownSource(source: JobCard["source"] | FindingSource): AdminSource {
  if (source.kind === "url") return { kind: "url", url: source.url, host: URL.parse(source.url)?.host ?? "" };
  if (source.kind === "upload") {
    return { kind: "upload", ...(source.name !== undefined && { name: source.name }) };
  }
  const { bucket, key, version } = source;
  return { kind: "object", bucket, key, ...(version !== undefined && { version }) };
}

export function shownFinding(finding: Finding): AdminFinding {
  const { id, at, verdict, detail, member, source, sizeBytes, fileType, sha256, tenant, key } = finding;
  const { traceId, requestId, jobId, action } = finding;
  return {
    id,
    at,
    verdict,
    finding: finding.finding,
    ...(detail !== undefined && { detail }),
    ...(member !== undefined && { member }),
    source: shownSource(source),
    size: sizeBytes,
    ...(fileType !== undefined && { type: fileType }),
    ...(sha256 !== undefined && { sha256 }),
    tenant,
    ...(key !== "" && { key }),
    ...(traceId !== undefined && { trace_id: traceId }),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(jobId !== undefined && { job_id: jobId }),
    ...(action !== undefined && { action }),
  };
}

export function shownLetter({ id, submittedAt, buriedAt, reason, job }: DeadLetter): AdminDeadLetter {
  const shared = { id, submitted_at: submittedAt, buried_at: buriedAt, reason };
  if (!job) return { ...shared, readable: false };
  const { tenant, traceId, source, callback, report } = job;
  const receiver = receiverOf(job);
  return {
    ...shared,
    readable: true,
    ...(tenant !== undefined && { tenant }),
    ...(traceId !== undefined && { trace_id: traceId }),
    source: shownSource(source),
    ...(receiver !== undefined && { receiver }),
    ...(callback && { callback_url: callback.url }),
    ...(report && { verdict: statusOf(report.verdict) }),
  };
}

/** The origin of its callback. */
export function receiverOf({ callback }: JobCard): string | undefined {
  return callback && (URL.parse(callback.url)?.origin ?? callback.url);
}

export interface EndedScan {
  id: string;
  at: number;
  source: FindingSource;
  account: Account;
  report: Report;
  ms: number;
  job?: Pick<Job, "id" | "traceId">;
}

export function shownScan({ id, at, source, account, report, ms, job }: EndedScan): AdminScan {
  const { verdict, sizeBytes } = report;
  return {
    id,
    at,
    verdict: statusOf(verdict),
    ...(verdict.kind !== "clean" && { finding: verdict.finding }),
    source: shownSource(source),
    size: sizeBytes,
    ...(verdict.fileType !== undefined && { type: verdict.fileType }),
    tenant: account.tenant,
    ...(account.key !== "" && { key: account.key }),
    ms: Math.round(ms),
    ...(job && { job_id: job.id }),
    ...(job?.traceId !== undefined && { trace_id: job.traceId }),
  };
}

/** Where it came from, and nothing else of it: neither secrets nor the request that it came with. */
export function withoutSecrets(source: Source): FindingSource {
  if (source.kind === "url") return { kind: "url", url: withoutQuery(source.url) };
  if (source.kind === "upload") {
    return { kind: "upload", ...(source.name !== undefined && { name: source.name }) };
  }
  const { bucket, key, version } = source;
  return { kind: "object", bucket, key, ...(version !== undefined && { version }) };
}

/** Whether a text is found in what people search jobs by. */
export function fitsText(
  { trace_id, source, id }: Pick<AdminJob, "trace_id" | "source" | "id">,
  text: string,
): boolean {
  const wanted = text.toLowerCase();
  return [id, trace_id ?? "", placeOf(source)].some((each) => each.toLowerCase().includes(wanted));
}

/** A link, bucket/key, or the name of an upload. */
export function placeOf(source: AdminSource): string {
  if (source.kind === "url") return source.url;
  return source.kind === "object" ? `${source.bucket}/${source.key}` : (source.name ?? "");
}
