import { jobCard } from "../../model/job-card.ts";
import type { DeadLetter, DeadLetters, ExpiredLetter } from "../../queue/job-queue.ts";
import { pageOf } from "../shared/page.ts";
import { jobOf } from "../shared/stored-job.ts";
import type { BrowsedJob, BuriedBefore, Ids } from "./sqlite/browse-operations.ts";
import type { JobDatabase, StoreParts } from "./sqlite/job-database.ts";

export function sqliteDeadLetters({ database, alarm, now }: StoreParts): DeadLetters {
  return {
    async list({ limit, after }) {
      const before = after === undefined ? {} : { before: placeOf(after) };
      const rows = await database.run("buried", { now: now(), limit: limit + 1, ...before });
      return pageOf(rows, { limit, entryOf: letterOf, placeOf: ({ buriedAt, seq }) => `${buriedAt}.${seq}` });
    },

    async show(id) {
      const row = await database.run("job", { id, now: now() });
      return row?.state === "buried" ? letterOf(row) : undefined;
    },

    async redrive(ids, what = "rest") {
      const count = await inSteps((chosen) => database.run("redrive", { ids: chosen, what, now: now() }), ids);
      if (count > 0) alarm.ring();
      return count;
    },

    purge: (ids) => inSteps((chosen) => database.run("purge", { ids: chosen }), ids),

    async expire(buriedBy) {
      const all: ExpiredLetter[] = [];
      for (;;) {
        const some = await database.run("expire", { buriedBy });
        if (some.length === 0) return all;
        all.push(...some);
      }
    },

    countBefore: (buriedBy) => buriedCount(database, buriedBy),
  };

  /** Ends when all are done that were there at the start, though some may be buried again meanwhile. */
  async function inSteps(step: (ids: Ids) => Promise<number>, ids: readonly string[] | "all"): Promise<number> {
    const buried = await buriedCount(database);
    let total = 0;
    while (total < buried) {
      const count = await step(ids === "all" ? undefined : ids);
      if (count === 0) break;
      total += count;
    }
    return total;
  }
}

/** How many dead letters there are, or were buried at a time or before. */
export async function buriedCount(database: JobDatabase, buriedBy?: number): Promise<number> {
  let total = 0;
  let next: number | undefined;
  do {
    const part = await database.run("countBuried", {
      ...(buriedBy !== undefined && { buriedBy }),
      ...(next !== undefined && { after: next }),
    });
    total += part.count;
    next = part.next;
  } while (next !== undefined);
  return total;
}

function letterOf({ id, submittedAt, buriedAt, reason, stored }: BrowsedJob): DeadLetter {
  return { id, submittedAt, buriedAt: buriedAt ?? 0, reason, job: stored && jobCard(jobOf(id, stored)) };
}

function placeOf(after: string): BuriedBefore {
  const [buriedAt = 0, seq = 0] = after.split(".").map(Number);
  return { buriedAt, seq };
}
