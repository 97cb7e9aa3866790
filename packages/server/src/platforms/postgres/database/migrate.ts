import { readdirSync, readFileSync } from "node:fs";
import { version } from "../../../version.ts";
import type { Connections, Query } from "./connections.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";

export interface Migration {
  number: number;
  /** The file's name. */
  name: string;
  /** The oldest code that can work with what it leaves, by the newest migration that code knows. */
  oldest: number;
  sql: string;
}

/** The oldest that was still looked after when this was made. */
const OLDEST_SERVER = 13;
/** A statement of a migration, or the wait for another process that is at it. */
const LONGEST_MIGRATION_MS = 600_000;

const folder = new URL("./migrations/", import.meta.url);

/**
 * All that this version knows, in order. A file is never changed once it was released, only added to by the next.
 * @internal a test adds another
 */
export function migrations(): Migration[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => {
    const sql = readFileSync(new URL(name, folder), "utf8");
    return { number: Number.parseInt(name, 10), name, oldest: Number(/^-- oldest: (\d+)\n/.exec(sql)?.[1]), sql };
  });
}

export interface MigrateOptions {
  /** Quoted. */
  schema: string;
  /** @internal tests bring others */
  known?: readonly Migration[];
}

/** Applies what is missing, once, whoever else tries at the same moment. Answers the names. Throws `DatabaseUnavailable`. */
export async function migrate(connections: Connections, options: MigrateOptions): Promise<string[]> {
  const { schema, known = migrations() } = options;
  // Asked without the lock first: it is the usual case, and needs no right to make anything.
  if ((await pendingMigrations(connections, options)).length === 0) return [];
  return await connections.use(
    async (query) => {
      await query("BEGIN");
      await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`lazaret migrations ${schema}`]);
      const [found] = await query<{ there: boolean }>("SELECT to_regnamespace($1) IS NOT NULL AS there", [schema]);
      if (!found?.there) await query(`CREATE SCHEMA ${schema}`);
      await query(
        `CREATE TABLE IF NOT EXISTS ${schema}.migrations
           (number int PRIMARY KEY, name text NOT NULL, oldest int NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
      );
      // Which lazaret applied it, for the message of one that is too old. Those of before it was written down leave it empty.
      await query(`ALTER TABLE ${schema}.migrations ADD COLUMN IF NOT EXISTS lazaret text`);
      const pending = missing(await appliedIn(query, schema), known);
      // Local to the transaction: the files name no schema.
      await query(`SET LOCAL search_path = ${schema}`);
      for (const { number, name, oldest, sql } of pending) {
        await query(sql);
        await query(`INSERT INTO ${schema}.migrations (number, name, oldest, lazaret) VALUES ($1, $2, $3, $4)`, [
          number,
          name,
          oldest,
          version,
        ]);
      }
      await query("COMMIT");
      return pending.map(({ name }) => name);
    },
    { answerMs: LONGEST_MIGRATION_MS },
  );
}

/** What `migrate` would apply. Throws `DatabaseUnavailable`, also when the schema is of a version that we cannot work with. */
export async function pendingMigrations(connections: Connections, options: MigrateOptions): Promise<Migration[]> {
  const { schema, known = migrations() } = options;
  return missing(await connections.use((query) => appliedIn(query, schema)), known);
}

/** The newest migration that was applied; 0 where none was. */
export async function schemaVersion(connections: Connections, schema: string): Promise<number> {
  const applied = await connections.use((query) => appliedIn(query, schema));
  return Math.max(0, ...applied.map(({ number }) => number));
}

interface Applied {
  number: number;
  name: string;
  oldest: number;
  lazaret: string | null;
}

async function appliedIn(query: Query, schema: string): Promise<Applied[]> {
  const [found] = await query<{ there: boolean; version: string; number: number }>(
    `SELECT to_regclass($1) IS NOT NULL AS there, current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS number`,
    [`${schema}.migrations`],
  );
  if (found && found.number < OLDEST_SERVER * 10_000) {
    throw new DatabaseUnavailable(
      `cannot use the job database: PostgreSQL ${found.version} is too old`,
      `${OLDEST_SERVER} and newer can be used`,
    );
  }
  if (!found?.there) return [];
  // As JSON, where a column that is not there yet is nothing.
  const read = `SELECT number, name, oldest, to_jsonb(applied)->>'lazaret' AS lazaret FROM ${schema}.migrations AS applied`;
  return await query<Applied>(read);
}

function missing(applied: readonly Applied[], known: readonly Migration[]): Migration[] {
  const newest = known.at(-1)?.number ?? 0;
  const beyond = applied.find(({ oldest }) => oldest > newest);
  if (beyond) {
    const newer = beyond.lazaret ?? undefined;
    throw new DatabaseUnavailable(
      `cannot use the job database: ${beyond.name} was applied to it${newer ? ` by lazaret ${newer}` : ""}, and this lazaret (${version}) is too old for that`,
      `run ${newer ? `lazaret ${newer} or newer` : "the newer lazaret that applied it"}; to go back, restore a dump from before the upgrade (docs/upgrade.md)`,
    );
  }
  return known.filter(({ number }) => applied.every((each) => each.number !== number));
}
