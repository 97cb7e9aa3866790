import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { timeLimit } from "../../flow/time-limit.ts";
import { sealer } from "../shared/sealed.ts";
import { type Connections, connections } from "./database/connections.ts";
import { pendingMigrations, schemaVersion } from "./database/migrate.ts";
import type { JobStoreOptions } from "./job-store.ts";

/** What a database is like, for an operator. */
export interface DatabaseState {
  server: ServerState;
  /** Names of migrations that are missing. */
  pending: readonly string[];
  /** The newest that was applied. */
  version: number;
  /** Undefined while nobody has written which key it is sealed with. */
  sameKey: boolean | undefined;
  /** Whether a notification came back. */
  hears: boolean;
  /** `INSERT on lazaret.jobs`: what its user lacks. */
  missingRights: readonly string[];
  tables: readonly TableState[];
}

interface ServerState {
  /** `15.14` */
  version: string;
  /** Half of several round trips were shorter. */
  roundTripMs: number;
  /** How far its clock is ahead of ours. */
  aheadMs: number;
  /** Set to `off`, by what protects what is written; as the user of the connection sees them. */
  switchedOff: readonly string[];
  takesWrites: boolean;
  connections: number;
  maxConnections: number;
  /** How long the oldest transaction is open that keeps dead rows from being removed. */
  oldestTransactionSeconds: number;
}

export interface TableState {
  name: string;
  /** With its indexes. */
  bytes: number;
  /** By the server's statistics. */
  live: number;
  dead: number;
  /** Milliseconds since 1970. */
  vacuumedAt: number | null;
}

const ROUND_TRIPS = 5;
const HEARD_WITHIN_MS = 3000;
/** What protects what is written; `full_page_writes` against pages that were written half. */
const PROTECTIONS = ["fsync", "synchronous_commit", "full_page_writes"];
const READ_ONLY_TABLES = ["migrations"];

/** Changes nothing. Throws `DatabaseUnavailable`. */
export async function databaseState(options: JobStoreOptions): Promise<DatabaseState> {
  await using undo = new AsyncDisposableStack();
  const ways = connections(options);
  undo.defer(ways.close);
  const schema = `"${options.schema}"`;
  const pending = (await pendingMigrations(ways, { schema })).map(({ name }) => name);
  const version = await schemaVersion(ways, schema);
  return {
    server: await serverState(ways),
    pending,
    version,
    sameKey: version === 0 ? undefined : await sameKey(ways, schema, options.secretKey),
    hears: await hears(ways),
    missingRights: await missingRights(ways, options.schema),
    tables: await tableStates(ways, options.schema),
  };
}

async function serverState({ query }: Connections): Promise<ServerState> {
  const trips: { ms: number; aheadMs: number }[] = [];
  for (let count = 0; count < ROUND_TRIPS; count += 1) {
    const startedAt = performance.now();
    const [told] = await query<{ ms: number }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms");
    const ms = performance.now() - startedAt;
    trips.push({ ms, aheadMs: (told?.ms ?? 0) - (Date.now() - ms / 2) });
  }
  trips.sort((one, other) => one.ms - other.ms);
  const [found] = await query<Omit<ServerState, "roundTripMs" | "aheadMs">>(
    `SELECT current_setting('server_version') AS version,
       ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE current_setting(name) = 'off') AS "switchedOff",
       NOT (pg_is_in_recovery() OR current_setting('transaction_read_only')::bool) AS "takesWrites",
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
       current_setting('max_connections')::int AS "maxConnections",
       (SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 FROM pg_stat_activity
        WHERE backend_xmin IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()) AS "oldestTransactionSeconds"`,
    [PROTECTIONS],
  );
  const [fastest] = trips;
  const middle = trips[Math.floor(trips.length / 2)];
  if (!found || !fastest || !middle) throw new Error("the database said nothing about itself");
  // The fastest one says most exactly how far the clocks are apart.
  return { ...found, roundTripMs: middle.ms, aheadMs: fastest.aheadMs };
}

async function sameKey({ query }: Connections, schema: string, secretKey: Uint8Array): Promise<boolean | undefined> {
  const [found] = await query<{ keyCheck: Buffer }>(`SELECT key_check AS "keyCheck" FROM ${schema}.seal`);
  return found?.keyCheck.equals(sealer(secretKey).keyCheck);
}

/** A pooler that hands connections on after each transaction brings no notifications. */
async function hears(ways: Connections): Promise<boolean> {
  const channel = `lazaret_doctor_${randomUUID().replaceAll("-", "")}`;
  const client = await ways.connect();
  using limit = timeLimit(HEARD_WITHIN_MS);
  try {
    const heard = once(client, "notification", { signal: limit.signal });
    heard.catch(() => {});
    await client.query(`LISTEN ${channel}`);
    await ways.query("SELECT pg_notify($1, '')", [channel]);
    await heard;
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function missingRights({ query }: Connections, schema: string): Promise<string[]> {
  const rows = await query<{ missing: string }>(
    `SELECT privilege || ' on ' || schemaname || '.' || tablename AS missing
     FROM pg_tables CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
     WHERE schemaname = $1 AND (privilege = 'SELECT' OR tablename <> ALL ($2))
       AND NOT has_table_privilege(format('%I.%I', schemaname, tablename), privilege)
     ORDER BY tablename, privilege`,
    [schema, READ_ONLY_TABLES],
  );
  return rows.map(({ missing }) => missing);
}

function tableStates({ query }: Connections, schema: string): Promise<TableState[]> {
  return query(
    `SELECT relname AS name, pg_total_relation_size(relid)::float8 AS bytes, n_live_tup AS live, n_dead_tup AS dead,
       (extract(epoch FROM greatest(last_autovacuum, last_vacuum)) * 1000)::float8 AS "vacuumedAt"
     FROM pg_stat_user_tables WHERE schemaname = $1 ORDER BY relname`,
    [schema],
  );
}
