import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { weaknessesOf } from "../../src/platforms/postgres/database/durability.ts";
import { type JobStoreOptions, openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { newSchema, type TestPostgres, testPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";
import { sampleJob } from "./sample-job.ts";

/** Both in one URL, the first preferred. */
function urlOf(...servers: readonly TestPostgres[]): string {
  const folders = servers.map(({ url }) => new URLSearchParams(url.split("?")[1]).get("host"));
  return `postgresql://lazaret@/lazaret?host=${folders.join(",")}&target_session_attrs=read-write`;
}

function optionsFor(url: string): JobStoreOptions {
  return { url, pool: 2, schema: newSchema(), secretKey: randomBytes(32), migrate: true };
}

async function opened(options: JobStoreOptions) {
  const store = await openJobStore(options);
  return { ...store, [Symbol.asyncDispose]: store.close };
}

/** A primary and a standby that a commit waits for. */
async function pair() {
  await using undo = new AsyncDisposableStack();
  const primary = undo.use(await testPostgres({ durable: true }));
  const standby = undo.use(await primary.standby());
  await primary.admin("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.admin("SELECT pg_reload_conf()");
  const inStep = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
  await until("the standby is in step", async () => (await primary.admin(inStep)).length === 1);
  const all = undo.move();
  return { primary, standby, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test("acknowledged is what a synchronous standby has; at a failover to it nothing of that is lost, and processes go on by themselves", async () => {
  await using servers = await pair();
  const { primary, standby } = servers;
  // The standby comes first: the one that takes writes is used, wherever it stands.
  await using store = await opened(optionsFor(urlOf(standby, primary)));
  const added = new Set<string>();
  const add = async (): Promise<void> => {
    const job = sampleJob();
    await store.queue.add(job).then(
      () => added.add(job.id),
      (error) => assert.ok(error instanceof QueueUnavailable, String(error)),
    );
  };
  assert.deepEqual(await weaknessesOf(store.connections), []);
  await add();
  assert.equal(added.size, 1);
  {
    using _ = standby.freeze();
    const adding = add();
    // The server acknowledges a commit whose wait for the standby somebody cancels.
    const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let cancelled = 0;
    await until("two waits were cancelled", async () => {
      cancelled += (await primary.admin(cancel)).length;
      return cancelled >= 2;
    });
    await adding;
    assert.equal(added.size, 1, "the standby does not have it");
  }

  const stop = new AbortController();
  const addForever = async (): Promise<void> => {
    while (!stop.signal.aborted) await add();
  };
  const adding = Promise.all([addForever(), addForever(), addForever()]);
  await until("jobs are added", () => added.size > 50);
  await primary.kill();
  await standby.promote();
  const before = added.size;
  await until("jobs are added again", () => added.size > before + 50);
  stop.abort();
  await adding;

  const found = new Set<string>();
  for (let leases = await store.queue.take(100); leases.length > 0; leases = await store.queue.take(100)) {
    for (const { job } of leases) found.add(job.id);
    await Promise.all(leases.map((lease) => lease.settle(done)));
  }
  assert.deepEqual(
    [...added].filter((id) => !found.has(id)),
    [],
    "acknowledged, and lost",
  );
});

test("a primary that was left behind and still takes writes is left, and not taken up by those who start", async () => {
  await using primary = await testPostgres();
  const options = optionsFor("");
  await (await openJobStore({ ...options, url: primary.url })).close();
  await using standby = await primary.standby();
  options.url = urlOf(primary, standby);
  const has = async (server: TestPostgres, id: string): Promise<boolean> =>
    (await server.sql(`SELECT 1 FROM ${options.schema}.jobs WHERE id = $1`, [id])).length === 1;
  await using early = await opened(options);
  const first = sampleJob();
  await early.queue.add(first);
  await until("the standby has it", () => has(standby, first.id));
  const weak = (await weaknessesOf(early.connections)).map(({ error }) => error).join("; ");
  assert.match(weak, /fsync = off: .* full_page_writes = off: .* no commit waits for one/);
  await standby.promote();

  await using late = await opened(options);
  const second = sampleJob();
  await late.queue.add(second);
  assert.deepEqual([await has(primary, second.id), await has(standby, second.id)], [false, true]);
  const earlyIsThere = async (): Promise<boolean> => {
    const job = sampleJob();
    await early.queue.add(job);
    return await has(standby, job.id);
  };
  await until("who was on the old one is on the new one", earlyIsThere, { limitMs: 60_000 });

  // Its old place is the first, and it is too late.
  await primary.stop("fast");
  await primary.start();
  const third = sampleJob();
  await late.queue.add(third);
  assert.equal(await has(standby, third.id), true);
});

test("a server that takes no writes any more is left at the first of them, which succeeds on another; a silent one holds up nobody", async () => {
  await using one = await testPostgres();
  await using other = await testPostgres();
  const options = optionsFor(urlOf(one, other));
  for (const { url } of [one, other]) await (await openJobStore({ ...options, url })).close();
  const readOnly = async (server: TestPostgres, value: "on" | "off"): Promise<void> => {
    await server.admin(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
    await server.admin("SELECT pg_reload_conf()");
    const shown = async (): Promise<string | undefined> =>
      (await server.sql<{ value: string }>("SELECT current_setting('transaction_read_only') AS value"))[0]?.value;
    await until("it is so", async () => (await shown()) === value);
  };
  const count = async ({ sql }: TestPostgres): Promise<number | undefined> =>
    (await sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${options.schema}.jobs`))[0]?.count;
  await using store = await opened(options);
  await store.queue.add(sampleJob());
  await readOnly(one, "on");
  await store.queue.add(sampleJob());
  assert.deepEqual([await count(one), await count(other)], [1, 1]);

  await readOnly(other, "on");
  await assert.rejects(openJobStore(options), (error: Error & { hint: string }) => {
    assert.match(error.message, /no server takes writes \(.*takes no writes; .*takes no writes\)/);
    assert.match(error.hint, /promote one of the servers/);
    return true;
  });
  await readOnly(other, "off");
  using _ = one.freeze();
  await using next = await opened(options);
  await next.queue.add(sampleJob());
  assert.equal(await count(other), 2);
});
