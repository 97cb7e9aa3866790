import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../../../test/contracts/sample-job.ts";
import { testPostgres } from "../../../../test/support/postgres.ts";
import { postgresPlace, postgresStores } from "../../../../test/support/postgres-stores.ts";
import { until } from "../../../../test/support/until.ts";
import { type Connections, connections } from "./connections.ts";
import { wakeUps } from "./wake-ups.ts";

test("a job that another process adds wakes this one, also after the connection for that was cut", async () => {
  await using place = await postgresPlace();
  await using waiting = await postgresStores(place);
  await using adding = await postgresStores(place);
  const listeners = async (): Promise<number[]> => {
    const channel = `LISTEN "lazaret_${place.options.schema}"`;
    const rows = await place.server.sql<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE query = $1", [
      channel,
    ]);
    return rows.map(({ pid }) => pid);
  };
  const giveUp = new AbortController();
  using _ = { [Symbol.dispose]: () => giveUp.abort() };
  const sleepOn = async (): Promise<void> => {
    while (!giveUp.signal.aborted) await waiting.wakeUps.jobs.sleep(1000, giveUp.signal);
  };
  const sleeping = sleepOn();
  for (let time = 0; time < 2; time += 1) {
    await until("it listens", async () => (await listeners()).length === 1);
    const before = waiting.wakeUps.jobs.rings;
    await adding.queue.add(sampleJob());
    await until("it is woken", () => waiting.wakeUps.jobs.rings > before);
    for (const pid of await listeners()) await place.server.sql("SELECT pg_terminate_backend($1)", [pid]);
    await until("nobody listens", async () => (await listeners()).length === 0);
  }
  giveUp.abort();
  await sleeping;
});

test("what this process adds itself wakes it once, and not again by its own notification", async () => {
  await using place = await postgresPlace();
  await using stores = await postgresStores(place);
  await using other = await postgresStores(place);
  const giveUp = new AbortController();
  using _ = { [Symbol.dispose]: () => giveUp.abort() };
  const sleeping = Promise.all([stores, other].map(({ wakeUps }) => wakeUps.jobs.sleep(60_000, giveUp.signal)));
  const sql = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE query = $1";
  const listening = async (): Promise<number> =>
    (await place.server.sql<{ count: number }>(sql, [`LISTEN "lazaret_${place.options.schema}"`]))[0]?.count ?? 0;
  await until("both listen", async () => (await listening()) === 2);
  await stores.queue.add(sampleJob());
  await until("the other is woken", () => other.wakeUps.jobs.rings === 1);
  // Notifications arrive in order: by the second its own first one has arrived, too.
  const before = stores.wakeUps.messages.rings;
  await other.outbox.add([{ id: "m", receiver: "r", body: "{}" }]);
  await until("the message's has arrived", () => stores.wakeUps.messages.rings > before);
  assert.equal(stores.wakeUps.jobs.rings, 1);
  giveUp.abort();
  await sleeping;
});

test("jobs that come one by one share a notification, and the last of them is told, too", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let sent = 0;
  const query = async (): Promise<[]> => {
    sent += 1;
    return [];
  };
  const { jobs, close } = wakeUps({ query } as unknown as Connections, { channel: "jobs", origin: "us" });
  for (let job = 0; job < 10; job += 1) {
    jobs.ring();
    await new Promise(setImmediate);
  }
  assert.equal(sent, 1);
  t.mock.timers.tick(20);
  await new Promise(setImmediate);
  assert.equal(sent, 2);
  const closed = close();
  t.mock.timers.tick(20);
  await closed;
});

test("who listens can stop though the server says nothing any more", { timeout: 20_000 }, async () => {
  await using server = await testPostgres();
  const ways = connections({ url: server.url, pool: 1 });
  const wakers = wakeUps(ways, { channel: "news", origin: "here" });
  const giveUp = new AbortController();
  using _ = { [Symbol.dispose]: () => giveUp.abort() };
  const sleeping = wakers.jobs.sleep(60_000, giveUp.signal);
  const listens = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
  await until("it listens", async () => (await server.admin(listens)).length === 1);
  using _frozen = server.freeze();
  await wakers.close();
  await ways.close();
  await sleeping;
});
