import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { MAX_ATTEMPTS } from "../../src/queue/job-queue.ts";
import { type AwsStores, startAws } from "../support/aws/aws-stores.ts";
import { type Fault, type FaultyProxy, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { added, takeOne } from "./job-queue.ts";
import type { Stores } from "./stores.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

/** More in each part than are compared at once. */
const WAIT = 140;
const shop = { tenant: "shop", counted: true } as const;

interface Guarded extends AsyncDisposable {
  stores: AwsStores;
  dynamodb: FaultyProxy;
}

async function guarded(): Promise<Guarded> {
  const dynamodb = await faultyProxy(servers.dynamodb.endpoint);
  const stores = await servers.stores({ endpoints: { sqs: servers.sqs.endpoint, dynamodb: dynamodb.endpoint } });
  return {
    stores,
    dynamodb,
    async [Symbol.asyncDispose]() {
      await stores.close();
      await dynamodb[Symbol.asyncDispose]();
    },
  };
}

/** Refuses what is asked about the items that are counted: as if the process had died before it. */
function refusing(operation: string): FaultyProxy["fault"] {
  const denied: Fault = { kind: "refused", status: 400, code: "AccessDeniedException" };
  return (asked, body) => (asked === operation && body.includes('"waiting#') ? denied : undefined);
}

async function partitions({ options }: AwsStores): Promise<string[]> {
  const items = await servers.dynamodb.items(options.tableName);
  return items.map(({ pk }) => String(pk?.S)).filter((pk) => !pk.startsWith("trace#"));
}

test("a job of a tenant without the limit costs nothing, and of one with it two requests that leave nothing behind", async () => {
  await using guard = await guarded();
  const { stores, dynamodb } = guard;
  await added(stores, { tenant: "shop" });
  await (await takeOne(stores)).settle(done);
  const without = dynamodb.asked.length;
  await added(stores, shop);
  assert.match((await partitions(stores)).join(), /waiting#shop#[0-3]/);
  await (await takeOne(stores)).settle(done);
  assert.deepEqual(await partitions(stores), []);
  assert.equal(dynamodb.asked.length, without * 2 + 2, `${dynamodb.asked}`);
});

test("what cannot be counted is accepted and done all the same", async () => {
  await using guard = await guarded();
  const { stores, dynamodb } = guard;
  dynamodb.fault = refusing("PutItem");
  await added(stores, shop);
  assert.equal(await stores.queue.unfinished("shop", 9), 0);
  dynamodb.fault = refusing("DeleteItem");
  assert.equal(await (await takeOne(stores)).settle(done), true);
  assert.equal((await stores.queue.counts()).ready, 0);
  dynamodb.fault = refusing("Query");
  await assert.rejects(stores.queue.unfinished("shop", 9), QueueUnavailable);
});

for (const [end, ended] of Object.entries({
  done: (job) => job.settle(done),
  buried: (job) => job.settle({ kind: "buried", reason: "enough", job: job.job }),
} satisfies Record<string, (job: Awaited<ReturnType<typeof takeOne>>) => Promise<boolean>>)) {
  test(`one that was ${end} when its worker died is counted until somebody would be refused for it, and those that wait go on to be`, async () => {
    await using guard = await guarded();
    const { stores, dynamodb } = guard;
    dynamodb.fault = refusing("DeleteItem");
    for (let count = 0; count < 3; count += 1) {
      await added(stores, shop);
      assert.equal(await ended(await takeOne(stores)), true);
    }
    dynamodb.fault = () => undefined;
    for (let count = 0; count < 3; count += 1) await added(stores, shop);
    assert.equal(await stores.queue.unfinished("shop", 9), 6, "nobody is refused");
    assert.equal(await stores.queue.unfinished("shop", 6), 3);
    assert.equal((await stores.queue.take(9)).length, 3);
    assert.equal(await stores.queue.unfinished("shop", 3), 3, "those under way are no left-overs");
  });
}

test("left-overs are found behind any number that wait, some at a time", async () => {
  await using guard = await guarded();
  const { stores, dynamodb } = guard;
  await Promise.all(Array.from({ length: WAIT }, () => added(stores, shop)));
  // The same table, so that this one is taken first.
  await using elsewhere = await servers.stores({ ...stores.options, ...(await servers.sqs.queues()) });
  await added(elsewhere, shop);
  dynamodb.fault = refusing("DeleteItem");
  await (await takeOne(elsewhere)).settle(done);
  dynamodb.fault = () => undefined;
  const count = async (): Promise<number | undefined> => stores.queue.unfinished("shop", WAIT + 1);
  const gets = (): number => dynamodb.asked.filter((operation) => operation === "GetItem").length;
  const before = gets();
  const counts = [await count()];
  assert.ok(gets() - before <= 25, "not all of them at once");
  const compared = gets();
  counts.push(await count());
  if (counts[0] !== WAIT) assert.equal(gets(), compared, "nor each time");
  for (let tries = 0; tries < 9 && counts.at(-1) !== WAIT; tries += 1) {
    await stores.advance(10);
    counts.push(await count());
  }
  assert.equal(counts.at(-1), WAIT, `${counts}`);
});

test("one that killed its workers is counted no more, whoever buries it", async () => {
  await using stores = await servers.stores(await servers.sqs.queues(MAX_ATTEMPTS + 10));
  await added(stores, shop);
  await worn(stores);
  assert.deepEqual(await stores.queue.take(1), []);
  assert.equal(await stores.queue.unfinished("shop", 9), 0);
  const { entries } = await stores.deadLetters.list({ limit: 9 });
  assert.equal(entries.length, 1);

  await using moved = await servers.stores();
  await added(moved, shop);
  await worn(moved);
  assert.deepEqual(await moved.queue.take(1), []);
  assert.equal((await moved.deadLetters.list({ limit: 9 })).entries.length, 1, "SQS has buried it by itself");
  assert.equal(await moved.queue.unfinished("shop", 9), 0);
});

/** Taken as often as may be, and never settled. */
async function worn(stores: Stores): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    await takeOne(stores);
    await stores.advance(stores.leaseSeconds + 1);
  }
}
