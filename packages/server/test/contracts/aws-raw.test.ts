import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { type Lease, MAX_ATTEMPTS } from "../../src/queue/job-queue.ts";
import { type AwsStores, startAws } from "../support/aws/aws-stores.ts";
import { faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { cleanReport, traced } from "./sample-job.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

async function sent(stores: AwsStores, message: unknown): Promise<void> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  await servers.sqs.send(stores.options.queueUrl, body);
}

/** All that there is to take. */
async function takeAll(stores: AwsStores): Promise<Lease[]> {
  const taken: Lease[] = [];
  for (;;) {
    const some = await stores.queue.take(10);
    if (some.length === 0) return taken;
    taken.push(...some);
  }
}

const keysOf = (leases: readonly Lease[]): string[] =>
  leases.map(({ job }) => (job.source.kind === "object" ? job.source.key : job.source.url)).toSorted();

const objects = (...keys: string[]) => ({ objects: keys.map((key) => ({ bucket: "uploads", key })) });

test("a bucket that is connected to the queue is guarded with no code", async () => {
  await using stores = await servers.stores();
  await sent(stores, { Service: "Amazon S3", Event: "s3:TestEvent", Bucket: "uploads" });
  assert.deepEqual(await takeAll(stores), []);
  const s3 = { bucket: { name: "uploads" }, object: { key: "my+file.pdf", versionId: "v1" } };
  await sent(stores, { Records: [{ eventSource: "aws:s3", eventName: "ObjectCreated:Put", s3 }] });
  const [lease, ...more] = await takeAll(stores);
  assert.deepEqual(more, []);
  assert.deepEqual(lease?.job.source, { kind: "object", bucket: "uploads", key: "my file.pdf", version: "v1" });
  assert.equal(lease?.attempt, 1);
  assert.equal((await stores.browser.show(lease?.job.id ?? ""))?.state, "leased");
  assert.equal(await lease?.settle(done), true);
  const { oldestSeconds: _, ...counts } = await stores.queue.counts();
  assert.deepEqual(counts, { ready: 0, delayed: 0, leased: 0, buried: 0 });
});

test("a message with many objects becomes as many jobs", async () => {
  await using stores = await servers.stores();
  const keys = Array.from({ length: 25 }, (_, index) => `file-${index}`);
  await sent(stores, objects(...keys));
  const leases = await takeAll(stores);
  assert.deepEqual(keysOf(leases), keys.toSorted());
  assert.equal(new Set(leases.map(({ job }) => job.id)).size, 25);
});

for (const [when, operation] of [
  ["before all jobs are sent", "SendMessageBatch"],
  ["between sending the jobs and deleting their message", "DeleteMessageBatch"],
] as const) {
  test(`no object is lost when the process dies ${when}`, async () => {
    await using sqs = await faultyProxy(servers.sqs.endpoint);
    await using stores = await servers.stores({
      endpoints: { sqs: sqs.endpoint, dynamodb: servers.dynamodb.endpoint },
    });
    await sent(stores, objects("a", "b", "c"));
    sqs.fault = (asked) => (asked === operation ? { kind: "cut" } : undefined);
    await assert.rejects(stores.queue.take(1), QueueUnavailable);
    sqs.fault = () => undefined;
    await using other = await stores.another();
    await stores.advance(stores.leaseSeconds + 1);
    assert.deepEqual([...new Set(keysOf(await takeAll(other)))], ["a", "b", "c"]);
  });
}

test("a job with a trace id can be asked for, though it came by the queue", async () => {
  await using stores = await servers.stores();
  await sent(stores, { objects: [{ bucket: "uploads", key: "a", trace_id: "order-1", custom_data: "x" }] });
  const [lease] = await takeAll(stores);
  assert.ok(lease);
  const { id: jobId, submittedAt, traceId, customData } = lease.job;
  assert.deepEqual([traceId, customData], ["order-1", "x"]);
  await stores.results.keep({ ...traced("order-1"), jobId, submittedAt }, cleanReport);
  assert.deepEqual(await stores.results.find(traced("order-1")), cleanReport);
});

test("what cannot be understood is buried with the reason, and others go on", async () => {
  await using stores = await servers.stores();
  await sent(stores, "hello");
  await sent(stores, { lazaret: "job", added: "x", job: {} });
  await sent(stores, objects("a"));
  assert.deepEqual(keysOf(await takeAll(stores)), ["a"]);
  const { entries } = await stores.deadLetters.list({ limit: 10 });
  assert.deepEqual(entries.map(({ reason }) => reason).toSorted(), [
    "the message has neither Records, detail-type, objects nor downloads",
    "the message is not JSON",
  ]);
  assert.deepEqual(
    entries.map(({ job }) => job),
    [undefined, undefined],
  );
});

test("of a message that is partly wrong the rest is scanned, and the message is kept to be looked at", async () => {
  await using stores = await servers.stores();
  await sent(stores, { objects: [{ bucket: "uploads", key: "a" }, { bucket: "uploads" }] });
  assert.deepEqual(keysOf(await takeAll(stores)), ["a"]);
  const { entries } = await stores.deadLetters.list({ limit: 10 });
  assert.deepEqual(
    entries.map(({ reason }) => reason),
    ["objects[1] has no key"],
  );
});

test("a dead letter that could not be understood can be redriven, and is buried anew; or purged", async () => {
  await using stores = await servers.stores();
  await sent(stores, "hello");
  assert.deepEqual(await takeAll(stores), []);
  const [first] = (await stores.deadLetters.list({ limit: 10 })).entries;
  assert.ok(first);
  assert.equal(await stores.deadLetters.redrive([first.id]), 1);
  assert.deepEqual(await takeAll(stores), []);
  const [second, ...more] = (await stores.deadLetters.list({ limit: 10 })).entries;
  assert.deepEqual(more, []);
  assert.equal(second?.reason, first.reason);
  assert.equal(await stores.deadLetters.purge("all"), 1);
  assert.equal((await stores.queue.counts()).buried, 0);
});

test("a message too large to take a reason with it is buried by SQS, and its reason is told all the same", async () => {
  await using stores = await servers.stores();
  await sent(stores, "x".repeat(256 * 1024));
  for (let receives = 0; receives <= MAX_ATTEMPTS; receives += 1) {
    assert.deepEqual(await takeAll(stores), []);
    await stores.advance(stores.leaseSeconds + 1);
  }
  const { entries } = await stores.deadLetters.list({ limit: 10 });
  assert.deepEqual(
    entries.map(({ reason }) => reason),
    ["the message is not JSON"],
  );
});
