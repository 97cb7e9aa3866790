import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

export function postgresUsage({ connections, lane, schema }: StoreParts): UsageMeter {
  const month = `to_char(to_timestamp(${schema}.now_ms() / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM')`;
  const add: BulkWrite<number, void> = {
    durable: false,
    async run(query, all) {
      await query(
        `INSERT INTO ${schema}.usage AS usage (month, scans) VALUES (${month}, $1)
         ON CONFLICT (month) DO UPDATE SET scans = usage.scans + excluded.scans`,
        [all.reduce((sum, scans) => sum + scans, 0)],
      );
      return all.map(() => undefined);
    },
  };

  return {
    add: (scans) => lane.write(add, scans),
    async thisMonth() {
      const sql = `SELECT scans FROM ${schema}.usage WHERE month = ${month}`;
      const [found] = await connections.query<{ scans: number }>(sql);
      return found?.scans ?? 0;
    },
  };
}
