import type { SharedCounts } from "../../access/shared-counts.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteCounts({ database, now }: Omit<StoreParts, "alarm">): SharedCounts {
  return {
    exchange: async (process, content) =>
      new Map(await database.run("exchangeCounts", { process, content, now: now() })),
  };
}
