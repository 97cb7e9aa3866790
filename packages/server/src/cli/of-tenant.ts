import type { JobCard } from "../model/job-card.ts";
import { DEFAULT_TENANT } from "../model/tenant.ts";
import type { DeadLetters, Page } from "../queue/job-queue.ts";

/** For commander: the flag of commands that may be about one tenant's alone. */
export const TENANT_FLAG = ["--tenant <name>", "those of one tenant only"] as const;

interface Listed {
  id: string;
  job: JobCard | undefined;
}

type ReadPage<Entry> = (page: { limit: number; after?: string }) => Promise<Page<Entry>>;

/** So many are read at once: whose a job is stands in what is sealed, and is seen when it is opened. */
const READ_AT_ONCE = 200;

/** What cannot be read any more is nobody's. */
function isOf({ job }: Listed, tenant: string): boolean {
  return job !== undefined && (job.tenant ?? DEFAULT_TENANT) === tenant;
}

/** A page of one tenant's entries, whatever stands between them. */
export async function pageOfTenant<Entry extends Listed>(
  read: ReadPage<Entry>,
  tenant: string,
  { limit, after }: { limit: number; after?: string },
): Promise<Page<Entry>> {
  const entries: Entry[] = [];
  let from = after;
  for (;;) {
    const at = from === undefined ? {} : { after: from };
    const page = await read({ limit: READ_AT_ONCE, ...at });
    const missing = limit - entries.length;
    const found = page.entries.flatMap((entry, place) => (isOf(entry, tenant) ? [{ entry, place }] : []));
    entries.push(...found.slice(0, missing).map(({ entry }) => entry));
    const last = found[missing - 1];
    // A place is known of the last of a page only.
    if (last) return { entries, next: (await read({ limit: last.place + 1, ...at })).next };
    if (page.next === undefined) return { entries, next: undefined };
    from = page.next;
  }
}

/** Redrives or purges all dead letters of a tenant that are there at the beginning. Answers how many there were, and were changed. */
export async function changeLettersOf(
  tenant: string,
  verb: "redrive" | "purge",
  letters: DeadLetters,
): Promise<{ wanted: number; count: number }> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const page = await letters.list({ limit: READ_AT_ONCE, ...(after !== undefined && { after }) });
    ids.push(...page.entries.filter((entry) => isOf(entry, tenant)).map(({ id }) => id));
    after = page.next;
  } while (after !== undefined);
  let count = 0;
  for (let from = 0; from < ids.length; from += READ_AT_ONCE)
    count += await letters[verb](ids.slice(from, from + READ_AT_ONCE));
  return { wanted: ids.length, count };
}
