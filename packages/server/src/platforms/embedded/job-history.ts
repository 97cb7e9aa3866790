import type { FinishedJob, JobHistory } from "../../queue/job-history.ts";
import { isJobPlace } from "../shared/page.ts";
import { MOST_READ, type Retention } from "../shared/retention.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

/** Between these others have their turn. */
const SEEN_AT_ONCE = 500;
const MOST_OF_TRACE = 100;

export function sqliteHistory({ database, now }: Omit<StoreParts, "alarm">, kept: Retention): JobHistory {
  const { mostRead = MOST_READ } = kept;
  const overBy = (): number => now() - kept.historyMs;

  return {
    async list({ limit, after, ...query }) {
      if (after !== undefined && !isJobPlace(after)) return undefined;
      const entries: FinishedJob[] = [];
      let before = after;
      let seen = 0;
      for (;;) {
        const found = await database.run("listHistory", {
          ...query,
          ...(before !== undefined && { before }),
          // One more than wanted says whether there are more.
          limit: limit + 1 - entries.length,
          most: Math.min(SEEN_AT_ONCE, mostRead - seen),
          overBy: overBy(),
        });
        entries.push(...found.entries);
        if (entries.length > limit) return { entries: entries.slice(0, limit), next: entries[limit - 1]?.id };
        seen += found.seen;
        before = found.next;
        if (before === undefined || seen >= mostRead) return { entries, next: before };
      }
    },

    show: (id) => database.run("showHistory", { id, overBy: overBy() }),

    async ofTrace(trace) {
      const ids: string[] = [];
      let next: number | undefined;
      do {
        const upTo = next === undefined ? {} : { upTo: next };
        const found = await database.run("historyOfTrace", { trace, overBy: overBy(), ...upTo });
        ids.push(...found.ids);
        next = found.next;
      } while (next !== undefined);
      return ids.sort().reverse().slice(0, MOST_OF_TRACE);
    },

    count: () => database.run("countHistory", { overBy: overBy() }),
  };
}
