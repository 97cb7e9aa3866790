import { monthOf, type UsageMeter } from "../../scan/usage-meter.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteUsage({ database, now }: Omit<StoreParts, "alarm">): UsageMeter {
  return {
    add: (used) => database.run("addUse", { month: monthOf(now()), used }),
    async thisMonth(tenant) {
      const rows = await database.run("useIn", { month: monthOf(now()), tenant });
      return new Map(rows.map(({ key, ...use }) => [key, use]));
    },
  };
}
