import { randomBytes } from "node:crypto";
import { type JobStore, type JobStoreOptions, openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import { LEASE_SECONDS } from "../../src/queue/job-queue.ts";
import type { Platform, Stores } from "../contracts/stores.ts";
import { newSchema, sharedPostgres, stopTime, type TestPostgres, tellTime } from "./postgres.ts";

/** One schema on a server, and how its processes reach it. */
export interface PostgresPlace {
  server: TestPostgres;
  options: JobStoreOptions;
  clock: { now: number };
}

/** A schema of its own whose time is told. */
export async function postgresPlace(more: Partial<JobStoreOptions> = {}): Promise<PostgresPlace & AsyncDisposable> {
  const server = await sharedPostgres();
  const schema = newSchema();
  const options = { url: server.url, pool: 4, schema, secretKey: randomBytes(32), migrate: true, ...more };
  const clock = { now: Date.UTC(2026, 0, 1) };
  await (await openJobStore(options)).close();
  await stopTime(server, schema, clock.now);
  return {
    server,
    options,
    clock,
    [Symbol.asyncDispose]: async () => void (await server.sql(`DROP SCHEMA ${schema} CASCADE`)),
  };
}

export async function advance({ server, options, clock }: PostgresPlace, seconds: number): Promise<void> {
  clock.now += seconds * 1000;
  await tellTime(server, options.schema, clock.now);
}

/** What a primary becomes that was demoted: it answers, and takes no writes. */
export function takingNoWrites(options: JobStoreOptions): JobStoreOptions {
  return { ...options, url: `${options.url}&options=${encodeURIComponent("-c default_transaction_read_only=on")}` };
}

export async function postgresStores(place: PostgresPlace, options = place.options): Promise<Stores & JobStore> {
  const store = await openJobStore(options);
  return {
    ...store,
    leaseSeconds: LEASE_SECONDS,
    now: () => place.clock.now,
    advance: (seconds) => advance(place, seconds),
    another: () => postgresStores(place),
    unwritable: () => postgresStores(place, takingNoWrites({ ...options, url: place.server.url })),
    sweep: store.upkeep.sweep,
    async damageKept() {
      const damaged = "SET sealed = set_byte(sealed, 60, 255 - get_byte(sealed, 60))";
      for (const name of ["history", "findings"]) await place.server.sql(`UPDATE ${options.schema}.${name} ${damaged}`);
    },
    [Symbol.asyncDispose]: store.close,
  };
}

export const postgres: Platform = postgresReached("the PostgreSQL platform", async () => ({}));

/** The platform on a server that is reached in some way. */
export function postgresReached(name: string, how: () => Promise<Partial<JobStoreOptions>>): Platform {
  return {
    name,
    ordered: true,
    toldClock: true,
    async make(kept) {
      const place = await postgresPlace({ ...(await how()), kept: { ...USUAL_RETENTION, ...kept } });
      const stores = await postgresStores(place);
      return {
        ...stores,
        async [Symbol.asyncDispose]() {
          await stores[Symbol.asyncDispose]();
          await place[Symbol.asyncDispose]();
        },
      };
    },
  };
}
