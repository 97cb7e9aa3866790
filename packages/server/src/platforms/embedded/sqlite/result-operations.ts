import type { DatabaseSync } from "node:sqlite";
import type { Sealer } from "../../shared/sealed.ts";
import { operation } from "./operation.ts";

export interface Expected {
  traceId: string;
  jobId: string;
  expiresAt: number;
}

/** From then on this job is the newest submission of its trace id. */
export function expectation(db: DatabaseSync, sealer: Sealer): (expected: Expected) => void {
  const expect = db.prepare(
    `INSERT INTO results (trace, job_id, expires_at) VALUES (?, ?, ?)
     ON CONFLICT (trace) DO UPDATE SET job_id = excluded.job_id, expires_at = excluded.expires_at, sealed = NULL`,
  );
  return ({ traceId, jobId, expiresAt }) => void expect.run(sealer.digest(traceId), jobId, expiresAt);
}

/** What polling asks. */
export function resultOperations(db: DatabaseSync, sealer: Sealer) {
  const keep = db.prepare(
    "UPDATE results SET sealed = ?, expires_at = ? WHERE trace = ? AND job_id = ? AND sealed IS NULL",
  );
  const find = db.prepare(
    "SELECT job_id AS jobId, sealed FROM results WHERE trace = ? AND sealed IS NOT NULL AND expires_at > ?",
  );

  return {
    keep: operation("durable", ({ traceId, jobId, expiresAt, report }: Expected & { report: string }): void => {
      keep.run(sealer.seal(report, ["report", jobId]), expiresAt, sealer.digest(traceId), jobId);
    }),

    find: operation("read", ({ traceId, now }: { traceId: string; now: number }): string | undefined => {
      const found = find.get(sealer.digest(traceId), now) as unknown as
        | { jobId: string; sealed: Uint8Array }
        | undefined;
      return found && sealer.unseal(found.sealed, ["report", found.jobId]);
    }),
  };
}

const SWEPT_AT_ONCE = 100;

/** Deletes results that are over, a few at a time. One whose job is still waiting or buried gets its time again. */
export function resultSweep(db: DatabaseSync, keptMs: number): (now: number) => void {
  const over = db.prepare(
    `SELECT trace, sealed IS NULL AND EXISTS (SELECT 1 FROM jobs WHERE id = job_id) AS awaited
     FROM results WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEPT_AT_ONCE}`,
  );
  const prolong = db.prepare("UPDATE results SET expires_at = ? WHERE trace = ?");
  const remove = db.prepare("DELETE FROM results WHERE trace = ?");
  return (now) => {
    for (const { trace, awaited } of over.all(now)) {
      if (awaited) prolong.run(now + keptMs, trace as Uint8Array);
      else remove.run(trace as Uint8Array);
    }
  };
}
