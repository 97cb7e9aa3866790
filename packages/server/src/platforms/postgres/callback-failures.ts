import { type CallbackFailures, FAILURES_KEPT_MS, type FailedCallback } from "../../deliver/callback-failures.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

export function postgresCallbackFailures({ connections, lane, sealer, schema }: StoreParts): CallbackFailures {
  const kept = `failed_at > ${schema}.now_ms() - ${FAILURES_KEPT_MS}`;
  const record: BulkWrite<FailedCallback, void> = {
    durable: true,
    async run(query, all) {
      await query(
        `WITH over AS (DELETE FROM ${schema}.callback_failures WHERE NOT ${kept})
         INSERT INTO ${schema}.callback_failures (id, failed_at, url, sealed, tenant)
         SELECT id, failed_at, url, sealed, tenant FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::text[])
           WITH ORDINALITY AS given (id, failed_at, url, sealed, tenant, place) ORDER BY place
         ON CONFLICT (id) DO NOTHING`,
        [
          all.map(({ id }) => id),
          all.map(({ failedAt }) => failedAt),
          all.map(({ callbackUrl }) => sealer.digest(callbackUrl)),
          all.map((failure) => sealer.seal(JSON.stringify(failure), ["failure", failure.id])),
          all.map(({ tenant }) => tenant),
        ],
      );
      return all.map(() => undefined);
    },
  };

  return {
    record: (failure) => lane.write(record, failure),

    async list({ tenant, callbackUrl, cursor, limit }) {
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : /^\d{1,15}$/.test(cursor) ? Number(cursor) : 0;
      if (before === 0) return undefined;
      const rows = await connections.query<{ seq: number; id: string; sealed: Buffer }>(
        `SELECT seq, id, sealed FROM ${schema}.callback_failures
         WHERE tenant = $4 AND ${kept} AND seq < $1 AND ($2::bytea IS NULL OR url = $2) ORDER BY seq DESC LIMIT $3`,
        [before, callbackUrl === undefined ? null : sealer.digest(callbackUrl), limit + 1, tenant],
      );
      const page = rows.slice(0, limit);
      const failures = page.flatMap(({ id, sealed }): FailedCallback[] => {
        const content = sealer.unseal(sealed, ["failure", id]);
        return content === undefined ? [] : [JSON.parse(content)];
      });
      return { failures, next: rows.length > limit ? String(page.at(-1)?.seq) : undefined };
    },
  };
}
