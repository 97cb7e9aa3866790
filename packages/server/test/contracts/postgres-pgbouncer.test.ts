import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { DatabaseUnavailable } from "../../src/platforms/postgres/database/database-unavailable.ts";
import { openJobStore } from "../../src/platforms/postgres/job-store.ts";
import type { Lease } from "../../src/queue/job-queue.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type PgBouncer, pgBouncer } from "../support/pgbouncer.ts";
import { newSchema, sharedPostgres } from "../support/postgres.ts";
import { postgresPlace, postgresReached, postgresStores } from "../support/postgres-stores.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { sampleJob } from "./sample-job.ts";

/** One for the file. Connections of the server go from one client to the next after each transaction. */
let shared: Promise<PgBouncer> | undefined;

async function pooler(): Promise<PgBouncer> {
  const { url } = await sharedPostgres();
  shared ??= pgBouncer(url, "transaction").then((started) => {
    atTheEnd(() => started[Symbol.asyncDispose]());
    return started;
  });
  return shared;
}

const reached = postgresReached("the PostgreSQL platform behind PgBouncer", async () => ({
  url: (await pooler()).url,
}));
jobQueueContract(reached);
jobQueueTimeContract(reached);

test("behind a pooler nobody hears LISTEN, and a job of another process is found all the same; also after the pooler began anew", async () => {
  const { url, restart } = await pooler();
  await using place = await postgresPlace({ url });
  await using waiting = await postgresStores(place);
  await using adding = await postgresStores(place);
  const giveUp = new AbortController();
  using _ = { [Symbol.dispose]: () => giveUp.abort() };
  const next = async (): Promise<Lease> => {
    for (;;) {
      const [lease] = await waiting.queue.take(1).catch(() => []);
      if (lease) return lease;
      await waiting.queue.wait(giveUp.signal);
    }
  };
  for (let round = 0; round < 2; round += 1) {
    const found = next();
    const job = sampleJob();
    await adding.queue.add(job);
    assert.deepEqual((await found).job, job);
    if (round === 0) await restart();
  }
});

test("a pooler that keeps no transaction together is refused at the start, and named", async () => {
  const { url } = await sharedPostgres();
  await using statements = await pgBouncer(url, "statement");
  const options = { pool: 2, schema: newSchema(), secretKey: randomBytes(32), migrate: true };
  await assert.rejects(openJobStore({ ...options, url: statements.url }), (error: DatabaseUnavailable) => {
    assert.match(`${error.message}; ${error.hint}`, /takes no transactions; set pool_mode = transaction/);
    return true;
  });
  const { sql } = await sharedPostgres();
  assert.deepEqual(await sql("SELECT to_regnamespace($1) AS made", [options.schema]), [{ made: null }]);
});
