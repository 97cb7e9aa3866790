import type { AccessStore } from "../../access/access-store.ts";
import { type KeptKey, keyContent, keyOf, tenantOf } from "../shared/access-rows.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

interface Change {
  sql: string;
  values: readonly unknown[];
  /** Done once more it is done, and says so. */
  again?: true;
}

export function postgresAccess({ connections, lane, schema: s }: StoreParts): AccessStore {
  /**
   * One statement each: they are an operator's, and rare. The version is written with it. Of one that was tried before, unheard, what it
   * was to do is done by now, whoever did it.
   */
  const change: BulkWrite<Change, boolean> = {
    durable: true,
    async run(query, all, { repeated }) {
      const outcomes: boolean[] = [];
      for (const { sql, values, again } of all) {
        const [found] = await query<{ changed: boolean }>(
          `WITH changed AS (${sql} RETURNING 1), versions AS (
             UPDATE ${s}.access_version SET version = version + 1 WHERE EXISTS (SELECT FROM changed)
           )
           SELECT EXISTS (SELECT FROM changed) AS changed`,
          values,
        );
        outcomes.push(found?.changed === true || (repeated && !again));
      }
      return outcomes;
    },
  };
  const used: BulkWrite<ReadonlyMap<string, number>, void> = {
    durable: false,
    async run(query, all) {
      const times = all.flatMap((each) => [...each]);
      await query(
        `UPDATE ${s}.access_keys SET last_used_at = greatest(last_used_at, used.at)
         FROM (SELECT id, max(at) AS at FROM unnest($1::text[], $2::bigint[]) AS each (id, at) GROUP BY id) AS used
         WHERE access_keys.id = used.id`,
        [times.map(([id]) => id), times.map(([, at]) => at)],
      );
      return all.map(() => undefined);
    },
  };
  const write = (sql: string, ...values: unknown[]): Promise<boolean> => lane.write(change, { sql, values });

  return {
    async version() {
      const [found] = await connections.query<{ version: number }>(`SELECT version FROM ${s}.access_version`);
      return String(found?.version);
    },
    async read() {
      const keys = await connections.query<KeptKey>(
        `SELECT content, expires_at AS "expiresAt", last_used_at AS "lastUsedAt" FROM ${s}.access_keys ORDER BY seq`,
      );
      const tenants = await connections.query<{ content: string }>(`SELECT content FROM ${s}.tenants ORDER BY name`);
      return { keys: keys.map(keyOf), tenants: tenants.map(({ content }) => tenantOf(content)) };
    },
    addKey: (key) =>
      write(
        `INSERT INTO ${s}.access_keys (id, content, expires_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
        key.id,
        keyContent(key),
        key.expiresAt ?? null,
      ),
    endKey: (id, at) =>
      write(`UPDATE ${s}.access_keys SET expires_at = least(expires_at, $2::bigint) WHERE id = $1`, id, at),
    removeKey: (id) => write(`DELETE FROM ${s}.access_keys WHERE id = $1`, id),
    putTenant(tenant, before) {
      const [now, then] = [JSON.stringify(tenant), before && JSON.stringify(before)];
      const sql =
        then === undefined
          ? `INSERT INTO ${s}.tenants AS known (name, content) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET content = $2 WHERE known.content::jsonb = $2::jsonb`
          : `UPDATE ${s}.tenants SET content = $2 WHERE name = $1 AND content::jsonb IN ($2::jsonb, $3::jsonb)`;
      return lane.write(change, {
        sql,
        values: [tenant.name, now, ...(then === undefined ? [] : [then])],
        again: true,
      });
    },
    removeTenant: (name) => write(`DELETE FROM ${s}.tenants WHERE name = $1`, name),
    async used(at) {
      if (at.size > 0) await lane.write(used, at);
    },
  };
}
