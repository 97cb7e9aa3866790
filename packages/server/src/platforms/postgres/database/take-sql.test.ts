import assert from "node:assert/strict";
import { test } from "node:test";
import pg from "pg";
import { cleanReport, sampleJob, traced } from "../../../../test/contracts/sample-job.ts";
import { advance, postgresPlace } from "../../../../test/support/postgres-stores.ts";
import { until } from "../../../../test/support/until.ts";
import { openJobStore } from "../job-store.ts";
import { leaseSql, sharesFromSql, sharesSql, sweepSql } from "./take-sql.ts";

/** So many wait that reading all of them would be seen in every plan. */
const WAITING = 30_000;
const SHARES = 3;

/** A schema with many jobs, results and messages. */
async function crowdedPlace() {
  const place = await postgresPlace();
  const { server, options } = place;
  const s = options.schema;
  const names = `lpad(number::text, 10, '0') AS id, ${place.clock.now} AS now, 'share ' || number % ${SHARES} AS share, '\\xab'::bytea AS sealed`;
  const rows = `(SELECT number, ${names} FROM generate_series(1, ${WAITING}) AS number) AS rows`;
  await server.sql(
    `INSERT INTO ${s}.jobs (id, submitted_at, since, due_at, share, counts, sealed)
     SELECT id, now, now, now, share, '{}', sealed FROM ${rows}`,
  );
  await server.sql(
    `INSERT INTO ${s}.results (trace, job_id, expires_at) SELECT sha256(id::bytea), id, now + 1000000 FROM ${rows}`,
  );
  await server.sql(
    `INSERT INTO ${s}.outbox (receiver, id, added_at, since, due_at, bytes, sealed)
     SELECT share, id, now, now, now, 1, sealed FROM ${rows}`,
  );
  await server.sql(`ANALYZE ${s}.jobs, ${s}.results, ${s}.outbox`);
  return place;
}

test("what a take costs does not grow with what waits", async () => {
  await using place = await crowdedPlace();
  const { sql } = place.server;
  const s = `"${place.options.schema}"`;
  const costOf = async (statement: string, values: unknown[] = []): Promise<number> => {
    const [row] = await sql<{ "QUERY PLAN": [{ Plan: Record<"Total Cost", number> }] }>(
      `EXPLAIN (FORMAT JSON) ${statement}`,
      values,
    );
    return row?.["QUERY PLAN"][0].Plan["Total Cost"] ?? Number.NaN;
  };
  const shares = Array.from({ length: SHARES }, (_, index) => `share ${index}`);
  const costs = {
    shares: await costOf(sharesSql(s)),
    lease: await costOf(leaseSql(s), [shares, shares.map(() => 16), 3, 60_000, 16, shares.map(() => 0)]),
    sharesFrom: await costOf(sharesFromSql(s), [shares, shares.map(() => 0)]),
    sweep: await costOf(sweepSql(s)[0] ?? ""),
  };
  const high = Object.entries(costs).filter(([, cost]) => !(cost < 1000));
  assert.deepEqual(high, [], "the server plans to read what is not wanted");
  assert.ok((await costOf(`SELECT min(since) FROM ${s}.jobs`)) > 500, "what does read all is told from the rest");
});

test("no table is read from end to end for a job and its message, however many wait", async () => {
  await using place = await crowdedPlace();
  const { sql } = place.server;
  const readWhole = async (): Promise<unknown> =>
    sql(
      `SELECT relname, seq_scan FROM pg_stat_user_tables WHERE schemaname = $1
         AND relname IN ('jobs', 'results', 'outbox') ORDER BY relname`,
      [place.options.schema],
    );
  const before = await readWhole();
  const store = await openJobStore(place.options);
  const job = sampleJob({ submittedAt: place.clock.now });
  const { id: jobId, traceId = "", submittedAt } = job;
  await store.queue.add(job);
  // The others cannot be read, and those that were taken with it are buried.
  const [lease] = await store.queue.take(8);
  assert.equal(lease?.job.id, jobId);
  await lease.extend();
  await lease.save(lease.job);
  await store.results.keep({ ...traced(traceId), jobId, submittedAt }, cleanReport);
  await store.outbox.add([{ receiver: "receiver", id: "message", body: "{}" }]);
  const [message] = await store.outbox.take([{ receiver: "receiver", limit: 8 }]);
  await message?.end({ kind: "sent" });
  assert.ok(await lease.settle({ kind: "done" }));
  assert.ok(await store.results.find(traced(traceId)));
  // Its connections say what they have read when they end, at the latest.
  await store.close();
  await until("all of them have ended", async () => {
    const sessions = "SELECT FROM pg_stat_activity WHERE application_name = 'lazaret'";
    return (await sql(sessions)).length === 0;
  });
  assert.deepEqual(await readWhole(), before);
});

test("what is done while an old transaction keeps its rows is not read again by each take", async () => {
  await using place = await postgresPlace();
  const { server, options, clock } = place;
  const s = `"${options.schema}"`;
  const add = (count: number, dueAt: number): Promise<unknown> =>
    server.sql(
      `INSERT INTO ${s}.jobs (id, submitted_at, since, due_at, share, counts, sealed)
       SELECT gen_random_uuid(), $2, $2, $2, 'share', '{}', '\\xab' FROM generate_series(1, $1)`,
      [count, dueAt],
    );
  const blocksOf = async (statement: string, values: unknown[]): Promise<number> => {
    const [row] = await server.sql<{ "QUERY PLAN": [{ Plan: Record<`Shared ${"Hit" | "Read"} Blocks`, number> }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
      values,
    );
    const plan = row?.["QUERY PLAN"][0].Plan;
    return (plan?.["Shared Hit Blocks"] ?? Number.NaN) + (plan?.["Shared Read Blocks"] ?? Number.NaN);
  };
  await add(5000, clock.now);
  await server.sql(`ANALYZE ${s}.jobs`);
  const backup = new pg.Client({ connectionString: server.url });
  await backup.connect();
  try {
    await backup.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await backup.query(`SELECT count(*) FROM ${s}.jobs`);
    await server.sql(`DELETE FROM ${s}.jobs`);
    await advance(place, 1);
    await add(10, clock.now);

    assert.ok((await blocksOf(sharesSql(s), [])) > 50, "they are in the way");
    assert.ok((await blocksOf(sharesFromSql(s), [["share"], [clock.now]])) < 20);
    const lease = [["share"], [1], 3, 60_000, 1];
    assert.ok((await blocksOf(leaseSql(s), [...lease, [clock.now]])) < 50);
  } finally {
    await backup.end();
  }
});
