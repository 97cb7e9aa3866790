import type { Finding, Findings } from "../../deliver/findings.ts";
import type { Retention } from "../shared/retention.ts";
import type { FindingPlace } from "./sqlite/finding-operations.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import type { Upkeep } from "./upkeep.ts";

/** Findings that one answer looks at, at most; who wants more goes on from there. */
const MOST_SEEN = 10_000;
/** …and so many at once, between which others have their turn. */
const SEEN_AT_ONCE = 500;

export function sqliteFindings(
  { database, now }: Omit<StoreParts, "alarm">,
  { kept, upkeep }: { kept: Retention; upkeep: Pick<Upkeep, "begin"> },
): Findings {
  return {
    async add(finding) {
      if (kept.findingsMost === 0) return;
      const { id, at } = finding;
      await database.run("addFinding", { id, at, content: JSON.stringify(finding) });
      // Here too: where no jobs are taken nobody else begins it.
      upkeep.begin();
    },

    async list({ limit, after, since = 0, ...query }) {
      let before = after === undefined ? undefined : placeIn(after);
      if (after !== undefined && !before) return undefined;
      const entries: Finding[] = [];
      let seen = 0;
      for (;;) {
        const found = await database.run("listFindings", {
          ...query,
          since: Math.max(since, now() - kept.findingsMs + 1),
          ...(before && { before }),
          // One more than wanted says whether there are more.
          limit: limit + 1 - entries.length,
          most: SEEN_AT_ONCE,
        });
        entries.push(...found.entries);
        const last = entries[limit - 1];
        if (last && entries.length > limit) return { entries: entries.slice(0, limit), next: wordOf(last) };
        seen += found.seen;
        before = found.next;
        if (!before || seen >= MOST_SEEN) return { entries, next: before && wordOf(before) };
      }
    },
  };
}

function wordOf({ at, id }: FindingPlace): string {
  return `${at}.${id}`;
}

function placeIn(text: string): FindingPlace | undefined {
  const [, at, id] = /^(\d{1,15})\.([\w-]{1,128})$/.exec(text) ?? [];
  return at === undefined || id === undefined ? undefined : { at: Number(at), id };
}
