import type { FinishedJob, JobHistory } from "../../queue/job-history.ts";
import type { Retention } from "../shared/retention.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

/** Jobs that one answer looks at, at most; who wants more goes on from there. */
const MOST_SEEN = 10_000;
/** …and so many at once, between which others have their turn. */
const SEEN_AT_ONCE = 500;
const MOST_OF_TRACE = 100;
/** As ids are, and nothing else. */
const PLACE = /^[\w.-]{1,128}$/;

export function sqliteHistory({ database, now }: Omit<StoreParts, "alarm">, kept: Retention): JobHistory {
  const overBy = (): number => now() - kept.historyMs;

  return {
    async list({ limit, after, ...query }) {
      if (after !== undefined && !PLACE.test(after)) return undefined;
      const entries: FinishedJob[] = [];
      let before = after;
      let seen = 0;
      for (;;) {
        const found = await database.run("listHistory", {
          ...query,
          ...(before !== undefined && { before }),
          // One more than wanted says whether there are more.
          limit: limit + 1 - entries.length,
          most: SEEN_AT_ONCE,
          overBy: overBy(),
        });
        entries.push(...found.entries);
        if (entries.length > limit) return { entries: entries.slice(0, limit), next: entries[limit - 1]?.id };
        seen += found.seen;
        before = found.next;
        if (before === undefined || seen >= MOST_SEEN) return { entries, next: before };
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
