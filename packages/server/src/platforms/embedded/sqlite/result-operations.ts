import type { DatabaseSync } from "node:sqlite";
import { FAILURES_KEPT_MS } from "../../../deliver/callback-failures.ts";
import type { Trace } from "../../../model/tenant.ts";
import type { AccountUse, Use } from "../../../scan/usage-meter.ts";
import type { Sealer } from "../../shared/sealed.ts";
import type { TraceDigest } from "./trace-digests.ts";
import { operation, type Sweep } from "./transaction.ts";

export interface Expected {
  trace: Trace;
  jobId: string;
  expiresAt: number;
}

/** From then on this job is the newest submission of its trace id. */
export function expectation(db: DatabaseSync, traceDigest: TraceDigest): (expected: Expected) => void {
  const expect = db.prepare(
    `INSERT INTO results (trace, job_id, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (trace) DO UPDATE SET job_id = excluded.job_id, expires_at = excluded.expires_at, sealed = NULL`,
  );
  return ({ trace, jobId, expiresAt }) => void expect.run(traceDigest(trace), jobId, expiresAt);
}

/** What polling asks. */
export function resultOperations(
  db: DatabaseSync,
  { sealer, traceDigest }: { sealer: Sealer; traceDigest: TraceDigest },
) {
  const keep = db.prepare(
    "UPDATE results SET sealed = ?, expires_at = ? WHERE trace = ? AND job_id = ? AND sealed IS NULL",
  );
  const find = db.prepare(
    "SELECT job_id AS jobId, sealed FROM results WHERE trace = ? AND sealed IS NOT NULL AND expires_at > ?",
  );

  return {
    keep: operation("durable", ({ trace, jobId, expiresAt, report }: Expected & { report: string }): void => {
      keep.run(sealer.seal(report, ["report", jobId]), expiresAt, traceDigest(trace), jobId);
    }),

    find: operation("read", ({ trace, now }: { trace: Trace; now: number }): string | undefined => {
      const found = find.get(traceDigest(trace), now) as unknown as { jobId: string; sealed: Uint8Array } | undefined;
      return found && sealer.unseal(found.sealed, ["report", found.jobId]);
    }),
  };
}

/** Small enough to be done in a moment: each is somewhere else in the file. */
const SWEPT_AT_ONCE = 50;

/** Deletes results that are over. One whose job is still waiting or buried gets its time again. */
export function resultSweep(db: DatabaseSync, keptMs: number): Sweep {
  const over = db.prepare(
    `SELECT trace, sealed IS NULL AND EXISTS (SELECT 1 FROM jobs WHERE id = job_id) AS awaited
     FROM results WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEPT_AT_ONCE}`,
  );
  const prolong = db.prepare("UPDATE results SET expires_at = ? WHERE trace = ?");
  const remove = db.prepare("DELETE FROM results WHERE trace = ?");
  return (now) => {
    const found = over.all(now);
    for (const { trace, awaited } of found) {
      if (awaited) prolong.run(now + keptMs, trace as Uint8Array);
      else remove.run(trace as Uint8Array);
    }
    return found.length === SWEPT_AT_ONCE;
  };
}

/** Deletes failed callbacks that are listed no more. */
export function failureSweep(db: DatabaseSync): Sweep {
  const sweep = db.prepare(
    `DELETE FROM callback_failures WHERE seq IN
       (SELECT seq FROM callback_failures WHERE failed_at <= ? ORDER BY failed_at LIMIT ${SWEPT_AT_ONCE})`,
  );
  return (now) => sweep.run(now - FAILURES_KEPT_MS).changes === SWEPT_AT_ONCE;
}

/** A callback that finally failed. */
interface Failed {
  tenant: string;
  id: string;
  failedAt: number;
  callbackUrl: string;
  /** JSON. */
  content: string;
}

interface FailedQuery {
  tenant: string;
  now: number;
  before: number;
  callbackUrl?: string;
  limit: number;
}

export function callbackFailureOperations(db: DatabaseSync, sealer: Sealer) {
  const record = db.prepare(
    "INSERT INTO callback_failures (tenant, id, failed_at, url, sealed) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
  );
  const list = db.prepare(
    `SELECT seq, id, sealed FROM callback_failures
     WHERE tenant = $tenant AND failed_at > $since AND seq < $before AND ($url IS NULL OR url = $url)
     ORDER BY seq DESC LIMIT $limit`,
  );

  return {
    recordFailure: operation("durable", ({ tenant, id, failedAt, callbackUrl, content }: Failed): void => {
      record.run(tenant, id, failedAt, sealer.digest(callbackUrl), sealer.seal(content, ["failure", id]));
    }),

    listFailures: operation("read", (query: FailedQuery): { seq: number; content: string }[] => {
      const { tenant, now, before, callbackUrl, limit } = query;
      const url = callbackUrl === undefined ? null : sealer.digest(callbackUrl);
      const rows = list.all({ tenant, since: now - FAILURES_KEPT_MS, before, url, limit }) as unknown as FailedRow[];
      return rows.flatMap(({ seq, id, sealed }) => {
        const content = sealer.unseal(sealed, ["failure", id]);
        return content === undefined ? [] : [{ seq, content }];
      });
    }),
  };
}

interface FailedRow {
  seq: number;
  id: string;
  sealed: Uint8Array;
}

/** Files accepted, scanned and their bytes, by month, tenant and key. What was counted before there were tenants stays where it is. */
export function usageOperations(db: DatabaseSync) {
  const addUse = db.prepare(
    `INSERT INTO usage_by_key (month, tenant, key, accepted, files, bytes) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (month, tenant, key) DO UPDATE
       SET accepted = accepted + excluded.accepted, files = files + excluded.files, bytes = bytes + excluded.bytes`,
  );
  const useIn = db.prepare(
    `SELECT key, sum(accepted) AS accepted, sum(files) AS files, sum(bytes) AS bytes FROM (
       SELECT key, accepted, files, bytes FROM usage_by_key WHERE month = $month AND tenant = $tenant
       UNION ALL
       SELECT '', 0, scans, 0 FROM usage WHERE month = $month AND $tenant = 'default'
     ) GROUP BY key`,
  );

  return {
    addUse: operation("relaxed", ({ month, used }: { month: string; used: readonly AccountUse[] }): void => {
      for (const { tenant, key, accepted, files, bytes } of used)
        addUse.run(month, tenant, key, accepted, files, bytes);
    }),

    useIn: operation("read", (of: { month: string; tenant: string }): (Use & { key: string })[] => {
      return useIn.all(of) as unknown as (Use & { key: string })[];
    }),
  };
}
