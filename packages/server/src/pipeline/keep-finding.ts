import { createHash } from "node:crypto";
import type { Finding, FindingSource, Findings } from "../deliver/findings.ts";
import type { Log } from "../log.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { linkForPeople, type Source } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import { statusOf } from "../model/verdict.ts";

/** A file that was scanned, or could not be. */
export interface Found {
  /** Made by `newJobId`. */
  id: string;
  account: Account;
  source: Source;
  report: Report;
  traceId?: string | undefined;
  requestId?: string;
  jobId?: string;
  /** What was done to the object. */
  action?: ObjectAction | undefined;
}

/** Remembers a file that is not clean, for whoever asks later. Never throws: what was found stands, whether or not it can be kept. */
export type KeepFinding = (found: Found) => Promise<void>;

export interface KeepFindingOptions {
  findings: Pick<Findings, "add">;
  log: Pick<Log, "error">;
  now(): number;
}

/** Whichever way a file came in, this is where its finding is written down: before the answer leaves, or its job is settled. */
export function keepFinding({ findings, log, now }: KeepFindingOptions): KeepFinding {
  return async (found) => {
    const verdict = statusOf(found.report.verdict);
    if (verdict === "clean") return;
    const finding = findingOf(found, verdict, now());
    try {
      await findings.add(finding);
    } catch (error) {
      log.error("finding_not_kept", {
        ...fieldsOf(finding),
        error: error instanceof Error ? error.message : String(error),
      });
    }
  };
}

/**
 * A job that runs again tells of the same finding, and one that finds something else the second time, such as after it was put back to be
 * scanned anew, of another: neither takes the place of the other.
 */
function findingId({ id, jobId, report: { verdict, sha256 } }: Found): string {
  if (jobId === undefined) return id;
  const found = [jobId, verdict.kind, verdict.kind === "clean" ? "" : verdict.finding, sha256 ?? ""];
  const digest = createHash("sha256").update(JSON.stringify(found)).digest("hex");
  return `${jobId.slice(0, -DIGEST_DIGITS)}${digest.slice(0, DIGEST_DIGITS)}`;
}

/** The last part of an id. */
const DIGEST_DIGITS = 12;

function findingOf(told: Found, verdict: Finding["verdict"], at: number): Finding {
  const { account, source, report, ...found } = told;
  const { verdict: said, sizeBytes, sha256, failure } = report;
  const detail = said.kind === "unscannable" ? (said.detail ?? failure?.message) : undefined;
  const { traceId, requestId, jobId, action } = found;
  return {
    id: findingId(told),
    at,
    tenant: account.tenant,
    key: account.key,
    verdict,
    finding: said.kind === "clean" ? "" : said.finding,
    ...(detail !== undefined && { detail }),
    // The file itself has no name inside it.
    ...(said.kind === "infected" && said.member && { member: said.member }),
    source: sourceOf(source, report),
    sizeBytes,
    ...(said.fileType !== undefined && { fileType: said.fileType }),
    ...(sha256 !== undefined && { sha256 }),
    ...(traceId !== undefined && { traceId }),
    ...(requestId !== undefined && { requestId }),
    ...(jobId !== undefined && { jobId }),
    ...(action !== undefined && { action }),
  };
}

/** Without what may be a secret: headers and queries. Of an object the version that was looked at, where there are any. */
function sourceOf(source: Source, { object }: Report): FindingSource {
  if (source.kind === "url") return { kind: "url", url: linkForPeople(source.url) };
  if (source.kind === "upload") return { kind: "upload", ...(source.name !== undefined && { name: source.name }) };
  const version = source.version ?? (object?.unversioned ? undefined : object?.version);
  return { kind: "object", bucket: source.bucket, key: source.key, ...(version !== undefined && { version }) };
}

/** What was not kept is in the log, as people may see it. */
function fieldsOf({ source, ...finding }: Finding): Record<string, string | number | undefined> {
  const place =
    source.kind === "object" ? `${source.bucket}/${source.key}` : source.kind === "url" ? source.url : undefined;
  return {
    finding_id: finding.id,
    job_id: finding.jobId,
    trace_id: finding.traceId,
    request_id: finding.requestId,
    tenant: finding.tenant,
    key: finding.key || undefined,
    source: place,
    verdict: finding.verdict,
    finding: finding.finding,
    bytes: finding.sizeBytes,
    sha256: finding.sha256,
  };
}
