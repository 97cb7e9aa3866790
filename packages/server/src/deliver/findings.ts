import type { ObjectAction } from "../model/job.ts";
import type { ObjectRef } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";

/**
 * Every file that was not clean, whichever way it came in, for as long as somebody may ask: `LAZARET_FINDINGS_DAYS`, and no more than
 * `LAZARET_FINDINGS_MOST`, of which the oldest go. No secrets: links have no query. Each adapter passes test/contracts/findings.ts. All of it
 * throws `QueueUnavailable`.
 */
export interface Findings {
  /** Durable when it resolves. Of the same id again what is told last stands, at the time it was first told: a job may tell of its finding twice. */
  add(finding: Finding): Promise<void>;
  /**
   * Newest first, by `at`. Opens 5,000 at most, in search of those that are wanted: a page may be short, or empty, and yet have a next. What
   * cannot be read any more is left out. Undefined for a place that is none of ours.
   */
  list(query: FindingsQuery): Promise<FindingsPage | undefined>;
}

export interface Finding extends Account {
  /** As `newJobId` makes them: ids are in the order of time. */
  id: string;
  /** Milliseconds since 1970. */
  at: number;
  verdict: "infected" | "no";
  finding: string;
  /** Why it could not be scanned. */
  detail?: string;
  /** What inside the file it was. */
  member?: string;
  source: FindingSource;
  sizeBytes: number;
  fileType?: string;
  /** In hex, of the whole content; undefined where it was not read to its end. */
  sha256?: string;
  traceId?: string;
  /** Of a scan without a job: X-Request-Id of its answer, which the client may have chosen. */
  requestId?: string;
  jobId?: string;
  /** What was done to the object. */
  action?: ObjectAction;
}

export type FindingSource =
  | { kind: "url"; url: string }
  | ({ kind: "object" } & ObjectRef)
  /** As the client called it, if it did. */
  | { kind: "upload"; name?: string };

export interface FindingsQuery {
  limit: number;
  /** `next` of the page before. */
  after?: string;
  /** Milliseconds since 1970: from then on, and until before then. */
  since?: number;
  until?: number;
  tenant?: string;
  verdict?: Finding["verdict"];
  /** In finding, name, key or link, trace id, request id or SHA-256; whatever the case. */
  text?: string;
}

interface FindingsPage {
  entries: Finding[];
  next: string | undefined;
}
