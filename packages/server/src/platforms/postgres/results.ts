import type { ResultStore } from "../../deliver/result-store.ts";
import type { Trace } from "../../model/tenant.ts";
import { traceDigest } from "../shared/sealed.ts";
import { RESULT_MS, type StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

interface Kept {
  trace: Trace;
  jobId: string;
  /** JSON. */
  report: string;
}

export function postgresResults({ connections, lane, sealer, schema }: StoreParts): ResultStore {
  const keep: BulkWrite<Kept, void> = {
    durable: true,
    bytesOf: ({ report }) => report.length,
    async run(query, all) {
      await query(
        `UPDATE ${schema}.results SET sealed = kept.sealed, expires_at = ${schema}.now_ms() + $4::bigint
         FROM unnest($1::bytea[], $2::text[], $3::bytea[]) AS kept (trace, job_id, sealed)
         WHERE results.trace = kept.trace AND results.job_id = kept.job_id AND results.sealed IS NULL`,
        [
          all.map(({ trace }) => traceDigest(sealer, trace)),
          all.map(({ jobId }) => jobId),
          all.map(({ jobId, report }) => sealer.seal(report, ["report", jobId])),
          RESULT_MS,
        ],
      );
      return all.map(() => undefined);
    },
  };

  return {
    keep({ tenant, traceId, jobId }, report) {
      return lane.write(keep, { trace: { tenant, traceId }, jobId, report: JSON.stringify(report) });
    },

    async find(trace) {
      const [found] = await connections.query<{ jobId: string; sealed: Buffer }>(
        `SELECT job_id AS "jobId", sealed FROM ${schema}.results
         WHERE trace = $1 AND sealed IS NOT NULL AND expires_at > ${schema}.now_ms()`,
        [traceDigest(sealer, trace)],
      );
      const report = found && sealer.unseal(found.sealed, ["report", found.jobId]);
      return report === undefined ? undefined : JSON.parse(report);
    },
  };
}
