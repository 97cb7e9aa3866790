import { CannotStart } from "../../compose/cannot-start.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import type { DatabaseState, TableState } from "../../platforms/postgres/database-state.ts";
import type { Settings } from "../../settings.ts";
import { inBytes } from "../terminal/output.ts";
import { type Check, fail, ok, warn } from "./check.ts";

/** A job takes several of them. */
const SLOW_ROUND_TRIP_MS = 20;
/** Deadlines are the database's; what callbacks and the log say is ours. */
const CLOCKS_APART_MS = 120_000;
/** More than autovacuum leaves lying with our settings, whatever is done. */
const MANY_DEAD = 50_000;
const LONG_TRANSACTION_SECONDS = 300;
/** Of what the server allows. */
const MOST_CONNECTIONS = 0.9;

/** The database of platform postgres: can it be used, is it safe, does it keep up. Never shows its address. */
export async function postgresChecks(settings: Settings, now: number): Promise<Check[]> {
  try {
    const { postgresState } = await import("../../compose/platform.ts");
    return stateChecks(await postgresState(settings), now);
  } catch (error) {
    if (error instanceof CannotStart) return [fail("database", error.message, error.hint)];
    if (error instanceof QueueUnavailable && "hint" in error) {
      return [fail("database", error.message, String(error.hint))];
    }
    throw error;
  }
}

/** @internal a test says what it is like */
export function stateChecks(state: DatabaseState, now: number): Check[] {
  return [serverCheck(state), ...safetyChecks(state), schemaCheck(state), listenCheck(state), tablesCheck(state, now)];
}

function serverCheck({ server }: DatabaseState): Check {
  const { version, roundTripMs, connections, maxConnections, aheadMs } = server;
  const detail = `PostgreSQL ${version}, ${roundTripMs.toFixed(1)} ms to it and back, ${connections} of ${maxConnections} connections in use`;
  const figures = { round_trip_ms: roundTripMs, connections, max_connections: maxConnections, clock_ahead_ms: aheadMs };
  if (!server.takesWrites) {
    const fix = "it is a replica, or set to read only: LAZARET_POSTGRES_URL must lead to the primary";
    return { ...fail("database", `${detail}; it takes no writes`, fix), figures };
  }
  if (roundTripMs > SLOW_ROUND_TRIP_MS) {
    const fix = "run lazaret near the database: every job takes several round trips";
    return { ...warn("database", detail, fix), figures };
  }
  if (connections > maxConnections * MOST_CONNECTIONS) {
    const fix = "raise max_connections, lower LAZARET_POSTGRES_POOL, or put a pooler before it";
    return { ...warn("database", detail, fix), figures };
  }
  return { ...ok("database", detail), figures };
}

function safetyChecks({ server, sameKey, missingRights }: DatabaseState): Check[] {
  const checks: Check[] = [];
  for (const name of server.switchedOff) {
    const fix = `set ${name} to on there, and for the user of LAZARET_POSTGRES_URL`;
    checks.push(warn("durability", `${name} is off: a crash of the server loses jobs that were acknowledged`, fix));
  }
  if (Math.abs(server.aheadMs) > CLOCKS_APART_MS) {
    const seconds = Math.round(server.aheadMs / 1000);
    const detail = `the database's is ${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} this machine's`;
    checks.push(
      warn("clock", detail, "let NTP keep both: deadlines go by the one, timestamps of callbacks by the other"),
    );
  }
  if (sameKey === false) {
    const fix = "LAZARET_SECRET_KEY must be the same for all processes on one database, and stay";
    checks.push(fail("secret key", "the jobs of this database were sealed with another key", fix));
  }
  if (missingRights.length > 0) {
    const fix = "grant them as its owner, docs/postgresql-rights.md has them";
    checks.push(fail("rights", `the user of LAZARET_POSTGRES_URL lacks ${missingRights.join(", ")}`, fix));
  }
  return checks;
}

function schemaCheck({ version, pending }: DatabaseState): Check {
  if (pending.length === 0) return ok("schema", `version ${version}, nothing to migrate`);
  const detail = `${version === 0 ? "not made yet" : `version ${version}`}, ${pending.join(", ")} to apply`;
  return warn("schema", detail, "lazaret serve does so at its start; with LAZARET_MIGRATE=off run lazaret migrate");
}

function listenCheck({ hears }: DatabaseState): Check {
  if (hears) return ok("wake-ups", "notifications arrive");
  const fix = "fine behind a pooler in transaction mode: workers then ask every second. Otherwise see the server's log";
  return warn("wake-ups", "no notification arrives, so a job may wait up to a second", fix);
}

function tablesCheck({ tables, server }: DatabaseState, now: number): Check {
  const shown = tables.filter(({ live, dead }) => live + dead > 0).toSorted((one, other) => other.bytes - one.bytes);
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const detail = [inBytes(bytes), ...shown.map((table) => tableInWords(table, now))].join("; ");
  const figures = Object.fromEntries(
    tables.flatMap(({ name, ...table }) => [
      [`${name}_bytes`, table.bytes],
      [`${name}_rows`, table.live],
      [`${name}_dead_rows`, table.dead],
    ]),
  );
  const bloated = tables.find(({ live, dead }) => dead > MANY_DEAD && dead > live);
  if (!bloated) return { ...ok("tables", detail), figures };
  const { oldestTransactionSeconds: open } = server;
  const fix =
    open > LONG_TRANSACTION_SECONDS
      ? `end the transaction that is open for ${Math.round(open)} s (pg_stat_activity shows it): dead rows stay as long as it`
      : `see that autovacuum runs, or run VACUUM ${bloated.name} yourself`;
  return { ...warn("tables", `${detail}: ${bloated.name} has more dead rows than others`, fix), figures };
}

function tableInWords({ name, bytes, live, dead, vacuumedAt }: TableState, now: number): string {
  const vacuumed =
    vacuumedAt === null ? "never vacuumed" : `vacuumed ${Math.round((now - vacuumedAt) / 60_000)} min ago`;
  return `${name} ${inBytes(bytes)}, ${live} rows and ${dead} dead, ${vacuumed}`;
}
