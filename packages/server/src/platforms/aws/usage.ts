import { monthOf, type UsageMeter } from "../../scan/usage-meter.ts";
import type { Attributes, Table } from "./table.ts";

/** One item for each month, which all processes add to. */
export function tableUsage(table: Table, now: () => number): UsageMeter {
  const key = (): Attributes => ({ pk: { S: "usage" }, sk: { S: monthOf(now()) } });
  return {
    add: (scans) => table.increase(key(), "scans", scans),
    async thisMonth() {
      return Number((await table.get(key()))?.scans?.N ?? 0);
    },
  };
}
