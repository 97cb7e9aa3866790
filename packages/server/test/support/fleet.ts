import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { openJobStore } from "../../src/platforms/postgres/job-store.ts";
import type { Settings } from "../../src/settings.ts";
import { newSchema, sharedPostgres, type TestPostgres } from "./postgres.ts";

/** Set by `npm run journeys:postgres`: every service of a journey is then a fleet on one PostgreSQL. */
export const onFleet: boolean = process.env.JOURNEYS_ON === "postgres";

/** What a process of a service does, one after the other; a worker has no API, the first two share it. */
export const fleetRoles: readonly Settings["role"][] = ["api", "api", "worker", "worker", "worker"];

interface FleetPlace {
  /** What all processes of a fleet share. */
  settings: Partial<Settings>;
  /** The database's time follows a told clock from then on. */
  follow(now: () => number): FollowedClock;
}

export interface FollowedClock extends AsyncDisposable {
  /** Has the database's time follow at once. */
  sync(): Promise<void>;
}

/** Told clocks are off by whole seconds. */
const NOTED_MS = 500;
const FOLLOW_EVERY_MS = 20;
/** Workers work meanwhile: a clock that only runs ahead would end their leases, and others would begin the same again. */
const WORK_MS = 300;
const places = new Map<string, Promise<FleetPlace>>();

/** The schema of a data folder: a service that starts again there finds what it left, as it does in the folder. */
export function fleetPlace(dataDir: string): Promise<FleetPlace> {
  const place = places.get(dataDir) ?? makePlace();
  places.set(dataDir, place);
  return place;
}

async function makePlace(): Promise<FleetPlace> {
  const server = await sharedPostgres();
  const schema = newSchema();
  const secretKey = randomBytes(32);
  await (await openJobStore({ url: server.url, pool: 1, schema, secretKey, migrate: true })).close();
  await server.sql(`CREATE TABLE ${schema}.told_time AS SELECT 0::bigint AS ahead`);
  await server.sql(
    `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE AS
     $$ SELECT (extract(epoch FROM statement_timestamp()) * 1000)::bigint + ahead FROM ${schema}.told_time $$`,
  );
  const settings: Partial<Settings> = {
    platform: "postgres",
    postgresUrl: server.url,
    postgresSchema: schema,
    secretKey: secretKey.toString("hex"),
  };
  return { settings, follow: (now) => followed(server, schema, now) };
}

function followed(server: TestPostgres, schema: string, now: () => number): FollowedClock {
  let noted = 0;
  let noting: Promise<unknown> = Promise.resolve();
  async function sync(): Promise<void> {
    const ahead = Math.round(now() - Date.now());
    if (Math.abs(ahead - noted) >= NOTED_MS) {
      noted = ahead;
      noting = noting.then(() => server.sql(`UPDATE ${schema}.told_time SET ahead = $1`, [ahead]));
      noting = noting.then(() => pause(WORK_MS));
    }
    await noting;
  }
  // Workers ask by themselves, too.
  const timer = setInterval(sync, FOLLOW_EVERY_MS);
  return {
    sync,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await noting;
    },
  };
}
