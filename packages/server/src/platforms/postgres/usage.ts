import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

export function postgresUsage({ connections, lane, schema }: StoreParts): UsageMeter {
  const month = `to_char(to_timestamp(${schema}.now_ms() / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM')`;
  const add: BulkWrite<number, void> = {
    durable: false,
    async run(query, all, { id }) {
      // A batch that came through before, unheard, left its mark; that of added jobs is another.
      await query(
        `WITH mark AS (
           INSERT INTO ${schema}.commits (id, committed_at) VALUES (md5($2 || ' usage')::uuid, ${schema}.now_ms())
           ON CONFLICT DO NOTHING RETURNING id
         )
         INSERT INTO ${schema}.usage AS usage (month, scans) SELECT ${month}, $1 FROM mark
         ON CONFLICT (month) DO UPDATE SET scans = usage.scans + excluded.scans`,
        [all.reduce((sum, scans) => sum + scans, 0), id],
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
