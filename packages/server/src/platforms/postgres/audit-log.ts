import { AUDIT_KEPT_MS, type AuditEntry, type AuditLog } from "../../access/audit-log.ts";
import { pageOf, placeIn } from "../shared/page.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

export function postgresAudit({ connections, lane, schema: s }: StoreParts): AuditLog {
  const add: BulkWrite<AuditEntry, void> = {
    durable: true,
    async run(query, all, { id }) {
      // What came through before, unheard, left its mark.
      await query(
        `WITH mark AS (
           INSERT INTO ${s}.commits (id, committed_at) VALUES (md5($3 || ' audit')::uuid, ${s}.now_ms())
           ON CONFLICT DO NOTHING RETURNING id
         ), over AS (
           DELETE FROM ${s}.audit WHERE at <= ${s}.now_ms() - ${AUDIT_KEPT_MS}
         )
         INSERT INTO ${s}.audit (at, content) SELECT at, content FROM mark,
           unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS given (at, content, place) ORDER BY place`,
        [all.map(({ at }) => at), all.map((entry) => JSON.stringify(entry)), id],
      );
      return all.map(() => undefined);
    },
  };

  return {
    add: (entry) => lane.write(add, entry),

    async list({ limit, since = 0, until = Number.MAX_SAFE_INTEGER, after }) {
      const before = after === undefined ? Number.MAX_SAFE_INTEGER : placeIn(after);
      if (before === undefined) return undefined;
      const rows = await connections.query<{ seq: number; content: string }>(
        `SELECT seq, content FROM ${s}.audit
         WHERE seq < $1 AND at >= $2 AND at < $3 AND at > ${s}.now_ms() - ${AUDIT_KEPT_MS} ORDER BY seq DESC LIMIT $4`,
        [before, since, until, limit + 1],
      );
      const entryOf = ({ content }: { seq: number; content: string }): AuditEntry => JSON.parse(content);
      return pageOf(rows, { limit, entryOf, placeOf: ({ seq }) => String(seq) });
    },
  };
}
