import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { takeOne } from "../../../../test/contracts/job-queue.ts";
import { sampleJob } from "../../../../test/contracts/sample-job.ts";
import { newSchema, sharedPostgres } from "../../../../test/support/postgres.ts";
import { postgresPlace, postgresStores } from "../../../../test/support/postgres-stores.ts";
import { done } from "../../../model/settlement.ts";
import { type JobStoreOptions, migrateDatabase, openJobStore } from "../job-store.ts";
import { connections } from "./connections.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";
import { type Migration, migrate, migrations } from "./migrate.ts";

const next: Migration = {
  number: migrations().length + 1,
  name: "9999-note.sql",
  oldest: 1,
  sql: "ALTER TABLE jobs ADD COLUMN note text; CREATE INDEX jobs_note ON jobs (note);",
};

async function emptyPlace(): Promise<{ options: JobStoreOptions; schema: string }> {
  const { url } = await sharedPostgres();
  const name = newSchema();
  return {
    options: { url, pool: 2, schema: name, secretKey: randomBytes(32), migrate: true },
    schema: `"${name}"`,
  };
}

test("the files are numbered without gaps, and each says which code can still work with it", () => {
  for (const [index, { number, oldest, name }] of migrations().entries()) {
    assert.equal(number, index + 1, name);
    assert.ok(oldest >= 1 && oldest <= number, name);
  }
});

test("each migration is applied once, however many processes start at the same moment", async () => {
  const { options, schema } = await emptyPlace();
  const ways = Array.from({ length: 6 }, () => connections(options));
  try {
    const applied = await Promise.all(ways.map((each) => migrate(each, { schema })));
    assert.deepEqual(
      applied.flat(),
      migrations().map(({ name }) => name),
    );
  } finally {
    await Promise.all(ways.map((each) => each.close()));
  }
});

test("a process of before goes on while the next version's migration is applied, and one starts beside it", async () => {
  await using place = await postgresPlace();
  await using before = await postgresStores(place);
  const ways = connections(place.options);
  try {
    await before.queue.add(sampleJob());
    const lease = await takeOne(before);
    const applied = await migrate(ways, { schema: `"${place.options.schema}"`, known: [...migrations(), next] });
    assert.deepEqual(applied, [next.name]);
    assert.equal(await lease.settle(done), true);
    await using beside = await postgresStores(place);
    const job = sampleJob();
    await beside.queue.add(job);
    assert.deepEqual((await takeOne(before)).job, job);
  } finally {
    await ways.close();
  }
});

test("a process that is too old for what was applied is told so at its start", async () => {
  const { options, schema } = await emptyPlace();
  const ways = connections(options);
  try {
    await migrate(ways, { schema, known: [...migrations(), { ...next, oldest: next.number }] });
  } finally {
    await ways.close();
  }
  await assert.rejects(openJobStore(options), (error: DatabaseUnavailable) => {
    assert.ok(error instanceof DatabaseUnavailable);
    const said = `${error.message}; ${error.hint}`;
    assert.match(
      said,
      /9999-note\.sql was applied to it by lazaret \d\S+, .* too old .*; run lazaret \d\S+ or newer; to go back,/,
    );
    return true;
  });
});

test("a database of before it was written down who applied what is used, and told apart, as others are", async () => {
  const { options, schema } = await emptyPlace();
  const ways = connections(options);
  try {
    await migrate(ways, { schema });
    await ways.query(`ALTER TABLE ${schema}.migrations DROP COLUMN lazaret`);
    assert.deepEqual(await migrate(ways, { schema }), []);
    await ways.query(`UPDATE ${schema}.migrations SET oldest = 9999 WHERE number = 1`);
    await assert.rejects(migrate(ways, { schema }), (error: DatabaseUnavailable) => {
      assert.match(error.hint, /^run the newer lazaret that applied it; to go back/);
      return true;
    });
    await ways.query(`UPDATE ${schema}.migrations SET oldest = 1 WHERE number = 1`);
    assert.deepEqual(await migrate(ways, { schema, known: [...migrations(), next] }), [next.name]);
  } finally {
    await ways.close();
  }
});

test("a migration that fails leaves nothing behind, of those before it neither", async () => {
  const { options, schema } = await emptyPlace();
  const ways = connections(options);
  try {
    const broken = {
      ...next,
      sql: "ALTER TABLE jobs ADD COLUMN note text; ALTER TABLE no_such_table ADD COLUMN x int;",
    };
    await assert.rejects(migrate(ways, { schema, known: [...migrations(), broken] }));
    assert.deepEqual(await ways.query("SELECT to_regnamespace($1) AS found", [schema]), [{ found: null }]);
  } finally {
    await ways.close();
  }
});

test("with migrations by hand a missing one is an error that names it; a dry run prints it and changes nothing", async () => {
  const { options } = await emptyPlace();
  await assert.rejects(openJobStore({ ...options, migrate: false }), (error: DatabaseUnavailable) => {
    assert.match(
      `${error.message}; ${error.hint}`,
      /lacks 0001-tables\.sql, .*, and LAZARET_MIGRATE is off; run lazaret migrate/,
    );
    return true;
  });
  for (let time = 0; time < 2; time += 1) {
    const [first] = await migrateDatabase({ ...options, dryRun: true });
    assert.match(first?.sql ?? "", /CREATE TABLE jobs/);
  }
  assert.equal((await migrateDatabase({ ...options, dryRun: false })).length, migrations().length);
  assert.deepEqual(await migrateDatabase({ ...options, dryRun: false }), []);
  await (await openJobStore({ ...options, migrate: false })).close();
});

test("a server older than 13 is refused, and which can be used is said", async () => {
  const { options } = await emptyPlace();
  const { sql } = await sharedPostgres();
  // A server that says so of itself, before what it has built in.
  const older = newSchema();
  await sql(`CREATE SCHEMA ${older}`);
  await sql(`CREATE FUNCTION ${older}.current_setting(name text) RETURNS text LANGUAGE sql AS
    $$ SELECT CASE name WHEN 'server_version_num' THEN '120022' WHEN 'server_version' THEN '12.22' END $$`);
  const path = encodeURIComponent(`-c search_path=${older},pg_catalog`);
  const url = `${options.url}&options=${path}`;
  await assert.rejects(openJobStore({ ...options, url }), (error: DatabaseUnavailable) => {
    assert.ok(error instanceof DatabaseUnavailable);
    assert.match(`${error.message}; ${error.hint}`, /PostgreSQL 12\.22 is too old; 13 and newer can be used/);
    return true;
  });
});

test("a process with another key is refused, and changes nothing for those with the right one", async () => {
  const { options } = await emptyPlace();
  await (await openJobStore(options)).close();
  await assert.rejects(openJobStore({ ...options, secretKey: randomBytes(32) }), /sealed with another key/);
  await (await openJobStore(options)).close();
});
