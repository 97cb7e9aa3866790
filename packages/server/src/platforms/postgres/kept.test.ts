import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanReport, sampleFinding, sampleJob } from "../../../test/contracts/sample-job.ts";
import { advance, postgresPlace, postgresStores } from "../../../test/support/postgres-stores.ts";
import { until } from "../../../test/support/until.ts";
import { newJobId } from "../../queue/job-queue.ts";
import { USUAL_RETENTION } from "../shared/retention.ts";

test("whoever reads the tables sees nothing of what clients sent", async () => {
  await using place = await postgresPlace();
  await using stores = await postgresStores(place);
  const job = sampleJob({ traceId: "canary", report: cleanReport });
  await stores.queue.add(job);
  const [lease] = await stores.queue.take(1);
  await lease?.settle({ kind: "done", job });
  await stores.findings.add(sampleFinding({ finding: "canary", traceId: "canary", sha256: "canary" }));
  const { schema } = place.options;
  for (const table of ["history", "findings"]) {
    const rows = await place.server.sql<Record<string, unknown>>(`SELECT * FROM ${schema}.${table}`);
    assert.equal(rows.length, 1, table);
    const texts = Object.values(rows[0] ?? {}).map((value) =>
      Buffer.isBuffer(value) ? value.toString("latin1") : value,
    );
    assert.doesNotMatch(texts.join(" "), /canary|files\.example|key-1|clean|infected/, table);
  }
});

test("jobs are settled although the history or the findings cannot be written", async () => {
  await using place = await postgresPlace();
  await using stores = await postgresStores(place);
  const s = place.options.schema;
  await place.server.sql(`DROP TABLE ${s}.findings`);
  await place.server.sql(`CREATE FUNCTION ${s}.damaged() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'data_corrupted'; END $$`);
  await place.server.sql(
    `CREATE TRIGGER damaged BEFORE INSERT ON ${s}.history FOR EACH ROW EXECUTE FUNCTION ${s}.damaged()`,
  );
  const jobs = [sampleJob(), sampleJob(), sampleJob()];
  const [found, ...added] = await Promise.allSettled([
    stores.findings.add(sampleFinding()),
    ...jobs.map((job) => stores.queue.add(job)),
  ]);
  assert.match(String(found.status === "rejected" && found.reason), /a table is missing/);
  assert.ok(added.every(({ status }) => status === "fulfilled"));
  const leases = await stores.queue.take(3);
  const settled = await Promise.all(leases.map((lease) => lease.settle({ kind: "done", job: lease.job })));
  assert.deepEqual(settled, [true, true, true]);
  const { ready, leased } = await stores.queue.counts();
  assert.deepEqual([ready, leased, await stores.history.count()], [0, 0, 0]);
});

test("what is over goes by itself, in a process that takes jobs and in one that only finds", async () => {
  await using place = await postgresPlace({ kept: { ...USUAL_RETENTION, historyMs: 1000, findingsMs: 1000 } });
  const { server, options } = place;
  const rowsOf = async (table: string): Promise<number> =>
    (await server.sql(`SELECT FROM ${options.schema}.${table}`)).length;
  {
    await using stores = await postgresStores(place);
    const job = sampleJob();
    await stores.queue.add(job);
    const [lease] = await stores.queue.take(1);
    await lease?.settle({ kind: "done", job });
    await stores.findings.add(sampleFinding({ at: place.clock.now }));
  }
  assert.deepEqual([await rowsOf("history"), await rowsOf("findings")], [1, 1]);
  await advance(place, 2);
  {
    await using finding = await postgresStores(place);
    await finding.findings.add(sampleFinding({ at: place.clock.now }));
    await until("the old are gone", async () => (await rowsOf("history")) === 0 && (await rowsOf("findings")) === 1);
  }
  await advance(place, 2);
  await using taking = await postgresStores(place);
  await taking.queue.take(1);
  await until("the last is gone", async () => (await rowsOf("findings")) === 0);
});

test("thousands that are too many go at once, and the newest stay", async () => {
  await using place = await postgresPlace({ kept: { ...USUAL_RETENTION, historyMost: 10, findingsMost: 20 } });
  const { server, options, clock } = place;
  const s = options.schema;
  await server.sql(
    `INSERT INTO ${s}.history (id, submitted_at, finished_at, sealed)
     SELECT lpad(number::text, 10, '0'), ${clock.now}, ${clock.now}, '\\xab' FROM generate_series(1, 3500) AS number`,
  );
  await server.sql(
    `INSERT INTO ${s}.findings (id, at, sealed)
     SELECT lpad(number::text, 10, '0'), ${clock.now}, '\\xab' FROM generate_series(1, 3500) AS number`,
  );
  await using stores = await postgresStores(place);
  assert.equal(await stores.history.count(), 3500);
  await stores.sweep();
  const left = async (table: string): Promise<unknown[]> =>
    server.sql(`SELECT count(*)::int AS count, min(id) AS first FROM ${s}.${table}`);
  assert.deepEqual(await left("history"), [{ count: 10, first: "0000003491" }]);
  assert.deepEqual(await left("findings"), [{ count: 20, first: "0000003481" }]);
});

test("two processes that redrive the same letters at once put each back once", async () => {
  await using place = await postgresPlace();
  await using stores = await postgresStores(place);
  await using other = await postgresStores(place);
  const jobs = Array.from({ length: 250 }, () => sampleJob({ id: newJobId() }));
  await Promise.all(jobs.map((job) => stores.queue.add(job)));
  const leases = await stores.queue.take(jobs.length);
  await Promise.all(leases.map(({ job, settle }) => settle({ kind: "buried", reason: "test", job })));
  const counts = await Promise.all([stores, other].map(({ deadLetters }) => deadLetters.redrive("all", "whole")));
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    250,
  );
  assert.deepEqual((await stores.deadLetters.list({ limit: 5 })).entries, []);
  const taken = await stores.queue.take(500);
  assert.equal(new Set(taken.map(({ job }) => job.id)).size, 250);
});
