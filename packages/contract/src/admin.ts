import type { AdminTask } from "./admin-installation.ts";

/**
 * The wire of /admin/v1: what the console asks for, and scripts may. Times are milliseconds since 1970, sizes bytes. Everything that a client
 * of the service chose (names, keys, links, findings) is text from strangers: show it as text only. No header values, no custom data; links
 * have `?…` in place of their query.
 */

export type * from "./admin-installation.ts";

export type AdminRole = "admin" | "viewer";

/** POST login {key} or {link}, GET session. */
export interface AdminSession {
  /** The name of the key. */
  who: string;
  role: AdminRole;
  expires_at: number;
  /** To be sent as X-Lazaret-CSRF with every call that changes something, by who came with a cookie. */
  csrf: string;
  installation: { name: string; version: string; platform: string; role: string; engine: string };
  /** Where clients reach the API, for commands to copy. */
  api_url: string;
  limits: { max_upload_bytes: number };
  event_bus: boolean;
}

/** A page of a list; `next` goes into `after`. */
export interface AdminPage<Entry> {
  entries: Entry[];
  next?: string;
}

export type JobStateName = "queued" | "under_way" | "retrying" | "done" | "dead";
export type Verdict = "clean" | "infected" | "no";

export type AdminSource =
  | { kind: "url"; url: string; host: string }
  | { kind: "object"; bucket: string; key: string; version?: string }
  | { kind: "upload"; name?: string };

/** A line of GET jobs?state=&verdict=&source=url|object&key=&tenant=&since=&until=&q=&limit=&after=. */
export interface AdminJob {
  id: string;
  state: JobStateName;
  submitted_at: number;
  finished_at?: number;
  /** When it is taken again, or its lease ends. */
  due_at?: number;
  attempts: number;
  tenant: string;
  key?: string;
  trace_id?: string;
  source: AdminSource;
  verdict?: Verdict;
  finding?: string;
  size?: number;
  type?: string;
  callback_url?: string;
  failed_callbacks: number;
  /** Why it is dead. */
  reason?: string;
}

/** GET jobs/counts. Of those done: what is kept. */
export type AdminJobCounts = Record<JobStateName, number> & { oldest_seconds: number };

export type LifeWord =
  | "accepted"
  | "taken"
  | "downloaded"
  | "scanned"
  | "acted"
  | "kept"
  | "told"
  | "callback"
  | "put_back"
  | "buried"
  | "redriven"
  | "done";

/** One thing that happened to a job. */
export interface LifeStep {
  at: number;
  what: LifeWord;
  /** How long it took: the wait before `taken`, the download, the scan, one POST. */
  ms?: number;
  /** Of a callback. */
  attempt?: number;
  status?: number;
  /** Verdict and finding, what was done to the object, an error's code, why it was put back or buried. */
  detail?: string;
}

/** GET jobs/<id or trace id>. */
export interface AdminJobDetail extends AdminJob {
  member?: string;
  sha256?: string;
  detail?: string;
  cached?: boolean;
  download_seconds?: number;
  scan_seconds?: number;
  engine?: string;
  signatures?: string;
  /** What was done to the object. */
  action?: "delete" | "tag" | "no";
  header_names: string[];
  callback_header_names: string[];
  life: LifeStep[];
  /** Steps that were left out between the first and the last ones. */
  life_left_out: number;
  /** Undefined when no callback was asked for, or there is no report yet. */
  callback?: AdminCallback;
  can: { callback: boolean; rescan: boolean; redrive: boolean };
  /** Other jobs of the same trace id, newest first. */
  others: { id: string; submitted_at: number; state: JobStateName }[];
}

export interface AdminCallback {
  url: string;
  /** JSON as it is sent; of a job that is done, without what is not kept. */
  payload: string;
  not_kept: string[];
  /** Undefined where callbacks are not signed. */
  signature?: {
    /** What is signed: these, one behind the other. */
    parts: { name: "timestamp" | "url" | "body" | "tenant"; value: string }[];
    value: string;
    fingerprint: string;
    verifies: boolean;
  };
}

/** A line of GET findings?verdict=&finding=&bucket=&source=&key=&tenant=&since=&until=&q=&limit=&after=. */
export interface AdminFinding {
  id: string;
  at: number;
  verdict: "infected" | "no";
  finding: string;
  detail?: string;
  member?: string;
  source: AdminSource;
  size: number;
  type?: string;
  sha256?: string;
  tenant: string;
  key?: string;
  trace_id?: string;
  /** Of a scan without a job: X-Request-Id of its answer. */
  request_id?: string;
  job_id?: string;
  action?: "delete" | "tag" | "no";
}

/** GET findings/groups?by=finding|bucket|day, with the filters of findings; of the newest 10,000. */
export interface AdminFindingGroup {
  name: string;
  count: number;
  infected: number;
  first_at: number;
  last_at: number;
}

/** A line of GET dead-letters?receiver=&tenant=&q=&limit=&after=. */
export interface AdminDeadLetter {
  id: string;
  submitted_at: number;
  buried_at: number;
  reason: string;
  /** False when it was damaged: it can only be deleted. */
  readable: boolean;
  tenant?: string;
  trace_id?: string;
  source?: AdminSource;
  /** Origin of the callback. */
  receiver?: string;
  callback_url?: string;
  verdict?: Verdict;
}

/** GET dead-letters/receivers; of the newest 10,000. */
export interface AdminReceiver {
  /** Undefined for those without a callback. */
  receiver?: string;
  count: number;
  last_at: number;
}

/** POST dead-letters/redrive and dead-letters/delete: one of ids, all, receiver. Answers 202 AdminTask. */
export interface AdminDeadLetterOrder {
  ids?: string[];
  all?: true;
  receiver?: string;
  /** Redrive only: the callback alone, where there is a report (default), or fetch and scan again. */
  what?: "callback" | "job";
  /** Redrive only. */
  per_second?: number;
}

/** GET activity?range=15m|1h|24h: of this service, since it started. */
export interface AdminActivity {
  since: number;
  range: "15m" | "1h" | "24h";
  last_day: { scanned: number; clean: number; infected: number; no: number; p95_ms?: number };
  queue: AdminJobCounts;
  /** Scans per bucket of time, oldest first. */
  step_seconds: number;
  points: { at: number; clean: number; infected: number; no: number }[];
  /** Uploads and other scans without a job, newest first, at most 200. */
  recent: AdminScan[];
}

/** A scan that is done, with or without a job. */
export interface AdminScan {
  id: string;
  at: number;
  verdict: Verdict;
  finding?: string;
  source: AdminSource;
  size: number;
  type?: string;
  tenant: string;
  key?: string;
  ms: number;
  job_id?: string;
  trace_id?: string;
}

/** POST scan/upload?name= (application/octet-stream), scan/url {url}, scan/object {bucket, key, version?}. */
export interface AdminScanResult {
  verdict: Verdict;
  finding?: string;
  detail?: string;
  member?: string;
  type?: string;
  size: number;
  sha256?: string;
  ms: number;
  cached?: boolean;
}

/** A line of GET audit?since=&until=&limit=&after=. */
export interface AdminAuditEntry {
  at: number;
  who: string;
  tenant: string;
  what: string;
  on: string;
  from: string;
  details?: Record<string, string | number | boolean>;
}

/**
 * GET events (SSE). `id` counts up within one process; after `Last-Event-ID` come those that were missed, or `reset` when they are not
 * known any more: then everything is to be read again. A comment every 15 s.
 */
export type AdminEvent =
  | { type: "job"; job: AdminJob; phase?: "downloading" | "scanning" | "delivering" }
  | { type: "scan"; scan: AdminScan }
  | { type: "finding"; finding: AdminFinding }
  | { type: "task"; task: AdminTask }
  | { type: "counts"; counts: AdminJobCounts }
  | { type: "reset" };

export const CSRF_HEADER = "x-lazaret-csrf";
