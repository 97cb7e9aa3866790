import type { DatabaseSync } from "node:sqlite";
import type { Retention } from "../../shared/retention.ts";
import { givesBack } from "./database-size.ts";
import { operation, type Sweep, timeSlice } from "./transaction.ts";

/** Few enough to stop in time. A free page is looked for among all of them, so one may take a while. */
const PAGES_AT_ONCE = 8;
/** Pages that stay for the next burst: 8 MB of them… */
const PAGES_KEPT = 2048;
/** …or this part of the file, so that a queue that breathes does not cut and grow its file all the time. */
const PART_KEPT = 8;

/** What is done on the side, in slices, between which others have their turn. */
export function upkeepOperations(db: DatabaseSync, sweeps: readonly Sweep[]) {
  const pages = db.prepare("PRAGMA page_count");
  const freePages = db.prepare("PRAGMA freelist_count");

  function hasWaste(): boolean {
    const kept = Math.max(PAGES_KEPT, Number(pages.get()?.page_count) / PART_KEPT);
    return Number(freePages.get()?.freelist_count) > kept && givesBack(db);
  }

  /** Gives free pages back to the disk. */
  function cut(): boolean {
    if (hasWaste()) db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
    return hasWaste();
  }

  return {
    /** Deletes what is over and gives back what is free. Answers whether there is more to do. */
    upkeep: operation("relaxed", ({ now, kept }: { now: number; kept: Retention }): boolean => {
      const isOver = timeSlice();
      for (const some of [...sweeps, cut]) {
        while (some(now, kept)) if (isOver()) return true;
      }
      return false;
    }),
  };
}
