import { monthOf, type UsageMeter } from "../../scan/usage-meter.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteUsage({ database, now }: Omit<StoreParts, "alarm">): UsageMeter {
  return {
    add: (scans) => database.run("addScans", { month: monthOf(now()), scans }),
    thisMonth: () => database.run("scansIn", { month: monthOf(now()) }),
  };
}
