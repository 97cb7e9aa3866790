import type { Finding, Findings } from "../../deliver/findings.ts";
import { type FindingPlace, findingPlace, findingPlaceIn } from "../shared/finding-place.ts";
import { MOST_READ, type Retention } from "../shared/retention.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import type { Upkeep } from "./upkeep.ts";

/** Between these others have their turn. */
const SEEN_AT_ONCE = 500;

export function sqliteFindings(
  { database, now }: Omit<StoreParts, "alarm">,
  { kept, upkeep }: { kept: Retention; upkeep: Pick<Upkeep, "begin"> },
): Findings {
  const { mostRead = MOST_READ } = kept;
  return {
    async add(finding) {
      if (kept.findingsMost === 0) return;
      const { id, at } = finding;
      await database.run("addFinding", { id, at, content: JSON.stringify(finding) });
      // Here too: where no jobs are taken nobody else begins it.
      upkeep.begin();
    },

    async list({ limit, after, since = 0, ...query }) {
      let before: FindingPlace | undefined = after === undefined ? undefined : findingPlaceIn(after);
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
          most: Math.min(SEEN_AT_ONCE, mostRead - seen),
        });
        entries.push(...found.entries);
        const last = entries[limit - 1];
        if (last && entries.length > limit) return { entries: entries.slice(0, limit), next: findingPlace(last) };
        seen += found.seen;
        before = found.next;
        if (!before || seen >= mostRead) return { entries, next: before && findingPlace(before) };
      }
    },
  };
}
