import { randomUUID } from "node:crypto";
import { AUDIT_KEPT_MS, type AuditEntry, type AuditLog } from "../../access/audit-log.ts";
import { pageOf } from "../shared/page.ts";
import type { Attributes, Table } from "./table.ts";

const PARTITION = "audit";
const TIME_DIGITS = 15;
const PLACE = /^\d{15}#[0-9a-f-]{36}$/;

/** One partition, by time. DynamoDB deletes what is over some time later. */
export function tableAudit(table: Table, now: () => number): AuditLog {
  const placeAt = (at: number): string => String(at).padStart(TIME_DIGITS, "0");
  return {
    async add(entry) {
      const item = {
        pk: { S: PARTITION },
        sk: { S: `${placeAt(entry.at)}#${randomUUID()}` },
        content: { S: JSON.stringify(entry) },
        expires_at: { N: String(Math.ceil((entry.at + AUDIT_KEPT_MS) / 1000)) },
      };
      await table.put(item, { if: "attribute_not_exists(pk) OR attribute_exists(pk)" });
    },

    async list({ limit, since = 0, until = Number.MAX_SAFE_INTEGER, after: cursor }) {
      if (cursor !== undefined && !PLACE.test(cursor)) return undefined;
      const from = Math.max(since, now() - AUDIT_KEPT_MS + 1);
      const end = cursor ?? (until >= 10 ** TIME_DIGITS ? undefined : placeAt(until));
      const rows: { entry: AuditEntry; place: string }[] = [];
      let after: Attributes | undefined;
      do {
        const page = await table.query({
          pk: PARTITION,
          newestFirst: true,
          consistent: true,
          ...(end !== undefined && { before: end }),
          ...(after && { after }),
        });
        for (const { sk, content } of page.items) {
          const entry = JSON.parse(content?.S ?? "{}") as AuditEntry;
          if (entry.at >= from && entry.at < until) rows.push({ entry, place: sk?.S ?? "" });
        }
        // Newest first: what follows is older still.
        const last = page.items.at(-1)?.sk?.S ?? "";
        after = last < placeAt(from) ? undefined : page.next;
      } while (after && rows.length <= limit);
      return pageOf(rows, { limit, entryOf: ({ entry }) => entry, placeOf: ({ place }) => place });
    },
  };
}
