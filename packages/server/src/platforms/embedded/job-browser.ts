import { jobCard } from "../../model/job-card.ts";
import type { JobBrowser, JobEntry } from "../../queue/job-queue.ts";
import { pageOf, placeIn } from "../shared/page.ts";
import { jobOf } from "../shared/stored-job.ts";
import type { BrowsedJob } from "./sqlite/browse-operations.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteBrowser({ database, now }: Omit<StoreParts, "alarm">): JobBrowser {
  return {
    async list({ limit, after, state }) {
      const before = after === undefined ? undefined : placeIn(after);
      if (after !== undefined && before === undefined) return { entries: [], next: undefined };
      const rows = await database.run("jobs", {
        now: now(),
        limit: limit + 1,
        ...(before !== undefined && { before }),
        ...(state !== undefined && { state }),
      });
      return pageOf(rows, { limit, entryOf, placeOf: ({ seq }) => String(seq) });
    },

    async show(id) {
      const row = await database.run("job", { id, now: now() });
      return row && entryOf(row);
    },
  };
}

function entryOf({ id, state, submittedAt, attempts, dueAt, stored }: BrowsedJob): JobEntry {
  const job = stored && jobOf(id, stored);
  const entry = { id, state, submittedAt, attempts, dueAt: dueAt ?? undefined };
  return { ...entry, job: job && jobCard(job), ...(job?.life && { life: job.life }) };
}
