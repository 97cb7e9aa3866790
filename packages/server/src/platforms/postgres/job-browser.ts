import { jobCard } from "../../model/job-card.ts";
import type { JobBrowser, JobEntry } from "../../queue/job-queue.ts";
import { pageOf, placeIn } from "../shared/page.ts";
import { jobOf } from "../shared/stored-job.ts";
import { type BrowsedRow, deadLettersSql, openJobsSql, openRow } from "./database/browse-sql.ts";
import type { StoreParts } from "./database/store-parts.ts";

export function postgresBrowser({ connections, sealer, schema }: Omit<StoreParts, "lane" | "wakeUps">): JobBrowser {
  /** Each side brings a page at most, whatever else there is. */
  const page = (side: string): string =>
    `(SELECT * FROM (${side}) AS side WHERE ($1::bigint IS NULL OR seq < $1) AND ($2::text IS NULL OR state = $2)
      ORDER BY seq DESC LIMIT $3)`;
  const list = `${page(openJobsSql(schema))} UNION ALL ${page(deadLettersSql(schema))} ORDER BY seq DESC LIMIT $3`;
  const show = `${openJobsSql(schema)} WHERE id = $1 UNION ALL ${deadLettersSql(schema)} WHERE id = $1`;

  function entryOf(browsed: BrowsedRow): JobEntry {
    const { id, state, submittedAt, attempts, dueAt, stored } = openRow(browsed, sealer);
    const job = stored && jobOf(id, stored);
    return { id, state, submittedAt, attempts, dueAt: dueAt ?? undefined, job: job && jobCard(job), life: job?.life };
  }

  return {
    async list({ limit, after, state }) {
      const before = after === undefined ? null : placeIn(after);
      if (before === undefined) return { entries: [], next: undefined };
      const values = [before, state ?? null, limit + 1];
      const rows = await connections.query<BrowsedRow>(list, values);
      return pageOf(rows, { limit, entryOf, placeOf: ({ seq }) => String(seq) });
    },

    async show(id) {
      const [row] = await connections.query<BrowsedRow>(show, [id]);
      return row && entryOf(row);
    },
  };
}
