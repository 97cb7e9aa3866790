import { AUDIT_KEPT_MS, type AuditEntry, type AuditLog } from "../../access/audit-log.ts";
import { pageOf, placeIn } from "../shared/page.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteAudit({ database, now }: Omit<StoreParts, "alarm">): AuditLog {
  return {
    add: (entry) => database.run("addAudit", { at: entry.at, content: JSON.stringify(entry) }),

    async list({ limit, since = 0, until, after }) {
      const before = after === undefined ? Number.MAX_SAFE_INTEGER : placeIn(after);
      if (before === undefined) return undefined;
      const rows = await database.run("listAudit", {
        limit: limit + 1,
        before,
        since: Math.max(since, now() - AUDIT_KEPT_MS + 1),
        ...(until !== undefined && { until }),
      });
      const entryOf = ({ content }: { seq: number; content: string }): AuditEntry => JSON.parse(content);
      return pageOf(rows, { limit, entryOf, placeOf: ({ seq }) => String(seq) });
    },
  };
}
