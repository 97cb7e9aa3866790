import { BEGUN, type Life, lived } from "./life.ts";
import type { Report } from "./report.ts";
import type { ObjectSource, UrlSource } from "./source.ts";
import { type Account, DEFAULT_TENANT, type Trace } from "./tenant.ts";
import type { TraceContext } from "./trace-context.ts";

/** Where the bytes of a queued file are. Unlike an upload it can be opened again. */
export type JobSource = UrlSource | ObjectSource;

/** What was done to an object after its scan. */
export type ObjectAction = "delete" | "tag" | "no";

/** Work we accepted and owe an answer for. Everything it needs to run, and what it has achieved so far. */
export interface Job extends Account {
  /** Random, ours; the same in all tries, also on the wire as X-Delivery-Id. */
  id: string;
  /** Milliseconds since 1970. */
  submittedAt: number;
  /** The client's, to poll by. */
  traceId?: string;
  /** Where its spans belong, if somebody traced when it was submitted. */
  traceContext?: TraceContext;
  /** Passed through unchanged, lone surrogates and NUL included. */
  customData?: string;
  source: JobSource;
  callback?: Callback;
  /** What is larger is not scanned: a limit of its key or tenant when it was submitted. */
  maxBytes?: number;
  /** Its tenant's waiting jobs were limited when it was submitted: where they cannot be counted otherwise, they are as long as they wait. */
  counted?: true;
  /** Set once the file was scanned: what is left to do is to deliver. */
  report?: Report;
  /** What was done to the object that was scanned. */
  action?: ObjectAction;
  /** It was announced on topic and event bus. */
  told?: boolean;
  /** It was put back while it was a suspect: its worker died or stood still with it, so it is scanned alone. */
  suspect?: true;
  /** Downloads that failed in a way that may pass. */
  failedDownloads: number;
  /** Scans that ended without a verdict after the engine had begun to read the file. */
  failedScans: number;
  /** Tries to tag or delete the object that failed. */
  failedActions: number;
  /** Callback invocations (of 1 + 5 POSTs each) that failed. */
  failedCallbacks: number;
  /** Runs that ended with an error of ours. */
  failedRuns: number;
  /** Scans alone that nobody heard the end of: its worker died, or stood still. */
  failedTrials: number;
  /** Leases that had run out when it was last put back. */
  lostLeases: number;
  /** What happened to it; undefined in what an older version kept. */
  life?: Life;
}

/** A job that goes back to the queue with its report is never downloaded or scanned again. */
export type ScannedJob = Job & { report: Report };

/** What was asked for, and by whom. */
export type Submission = Pick<
  Job,
  "source" | keyof Account | "traceId" | "traceContext" | "customData" | "callback" | "maxBytes" | "counted"
>;

/** A job as it begins. */
export function newJob(submission: Submission, { id, submittedAt }: Pick<Job, "id" | "submittedAt">): Job {
  const life = lived(BEGUN, { at: submittedAt, what: "accepted" });
  return { id, submittedAt, life, ...submission, ...noFailures };
}

/** What a job begins with, and begins with again when it is redriven. */
export const noFailures = {
  failedDownloads: 0,
  failedScans: 0,
  failedActions: 0,
  failedCallbacks: 0,
  failedRuns: 0,
  failedTrials: 0,
  lostLeases: 0,
} satisfies Partial<Job>;

/** A dead letter as it begins again: with what it has achieved, or as a whole. */
export function redriven(job: Job, what: "rest" | "whole", at: number): Job {
  const life = lived(job.life ?? BEGUN, { at, what: "redriven", detail: what });
  if (what === "rest") return { ...job, ...noFailures, life };
  const { report: _, action: __, told: ___, ...asked } = job;
  return { ...asked, ...noFailures, life };
}

/** Of a job that was kept before there were tenants, or that nobody with a key asked for. */
export const nobodysAccount: Account = { tenant: DEFAULT_TENANT, key: "" };

/** Places are shared out between tenants, whatever jobs each has waiting. */
export function shareOf({ tenant }: Pick<Job, "tenant">): string {
  return tenant;
}

/** What it is polled by. */
export function traceOf({ tenant, traceId }: Pick<Job, "tenant" | "traceId">): Trace | undefined {
  return traceId === undefined ? undefined : { tenant, traceId };
}

export interface Callback {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Set for jobs whose callbacks are signed over the tenant's id, too. */
  tenantId?: string;
}
