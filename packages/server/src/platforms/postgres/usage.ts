import { DEFAULT_TENANT } from "../../model/tenant.ts";
import type { AccountUse, UsageMeter, Use } from "../../scan/usage-meter.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

export function postgresUsage({ connections, lane, schema }: StoreParts): UsageMeter {
  const month = `to_char(to_timestamp(${schema}.now_ms() / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM')`;
  const add: BulkWrite<readonly AccountUse[], void> = {
    durable: false,
    async run(query, all, { id }) {
      const used = all.flat();
      // A batch that came through before, unheard, left its mark; that of added jobs is another. In one order, so that two
      // processes do not wait for each other.
      await query(
        `WITH mark AS (
           INSERT INTO ${schema}.commits (id, committed_at) VALUES (md5($6 || ' usage')::uuid, ${schema}.now_ms())
           ON CONFLICT DO NOTHING RETURNING id
         )
         INSERT INTO ${schema}.usage_by_key AS usage (month, tenant, key, accepted, files, bytes)
         SELECT ${month}, tenant, key, sum(accepted), sum(files), sum(bytes) FROM mark,
           unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) AS used (tenant, key, accepted, files, bytes)
         GROUP BY tenant, key ORDER BY tenant, key
         ON CONFLICT (month, tenant, key)
           DO UPDATE SET accepted = usage.accepted + excluded.accepted,
             files = usage.files + excluded.files, bytes = usage.bytes + excluded.bytes`,
        [
          used.map(({ tenant }) => tenant),
          used.map(({ key }) => key),
          used.map(({ accepted }) => accepted),
          used.map(({ files }) => files),
          used.map(({ bytes }) => bytes),
          id,
        ],
      );
      return all.map(() => undefined);
    },
  };

  return {
    add: (used) => lane.write(add, used),
    async thisMonth(tenant) {
      // What processes of before tenants count is the default tenant's.
      const rows = await connections.query<Use & { key: string }>(
        `SELECT key, sum(accepted)::bigint AS accepted, sum(files)::bigint AS files, sum(bytes)::bigint AS bytes FROM (
           SELECT key, accepted, files, bytes FROM ${schema}.usage_by_key WHERE month = ${month} AND tenant = $1
           UNION ALL SELECT '', 0, scans, 0 FROM ${schema}.usage WHERE month = ${month} AND $1 = '${DEFAULT_TENANT}'
         ) AS used GROUP BY key`,
        [tenant],
      );
      return new Map(rows.map(({ key, ...use }) => [key, use]));
    },
  };
}
