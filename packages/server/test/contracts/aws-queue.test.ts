import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CUSTOM_DATA_MAX_BYTES,
  HEADERS_MAX_BYTES,
  TRACE_ID_MAX_CHARACTERS,
  URL_MAX_CHARACTERS,
} from "@lazaret/contract";
import type { Job } from "../../src/model/job.ts";
import { done } from "../../src/model/settlement.ts";
import { JobTooLarge } from "../../src/platforms/aws/job-message.ts";
import { MAX_ATTEMPTS, POISON } from "../../src/queue/job-queue.ts";
import { startAws } from "../support/aws/aws-stores.ts";
import { faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { added, takeOne } from "./job-queue.ts";
import { cleanReport, failedReport, sampleJob, withoutLife } from "./sample-job.ts";
import type { Stores } from "./stores.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

const nothingLeft = { ready: 0, delayed: 0, leased: 0, buried: 0 };

async function counted(stores: Stores): Promise<typeof nothingLeft> {
  const { oldestSeconds: _, ...counts } = await stores.queue.counts();
  return counts;
}

test("the largest job that the API accepts fits into a message, also with its report", async () => {
  await using stores = await servers.stores();
  const most = (unit: string, count: number): string => unit.repeat(count);
  for (const character of ["\u0001", "\ufffe", "👾", '"']) {
    const customData = most(character, Math.floor(CUSTOM_DATA_MAX_BYTES / Buffer.byteLength(character)));
    const headers = { "X-A": most('"', HEADERS_MAX_BYTES / 2), "X-B": most("\u00ff", HEADERS_MAX_BYTES / 2) };
    const url = `https://files.example/${most("'", URL_MAX_CHARACTERS - 22)}`;
    const job = sampleJob({
      customData,
      traceId: most("👾", TRACE_ID_MAX_CHARACTERS),
      traceContext: { traceparent: most("x", 55), tracestate: `a=${most('"', 253)},b=${most('"', 254)}` },
      source: { kind: "url", url, headers },
      callback: { url, headers },
      report: { ...failedReport, verdict: { kind: "infected", finding: most("x", 1024) } },
    });
    await stores.queue.add(job);
    const lease = await takeOne(stores);
    assert.deepEqual(lease.job, job);
    assert.equal(await lease.settle(done), true);
  }
});

test("a job that is too large for a message is refused clearly, and leaves nothing behind", async () => {
  await using stores = await servers.stores();
  const job = sampleJob({ customData: "x".repeat(256 * 1024) });
  await assert.rejects(
    stores.queue.add(job),
    (error: Error) => error instanceof JobTooLarge && /^cannot queue the job: it has \d{6} bytes/.test(error.message),
  );
  assert.deepEqual((await stores.browser.list({ limit: 10 })).entries, []);
});

test("large jobs that are added together are sent in several requests", async () => {
  await using stores = await servers.stores();
  const jobs = Array.from({ length: 12 }, () => sampleJob({ customData: "x".repeat(90_000) }));
  await Promise.all(jobs.map((job) => stores.queue.add(job)));
  assert.equal((await stores.queue.counts()).ready, 12);
});

test("a delay that is longer than SQS knows is kept all the same, and counts as no attempt", async () => {
  await using stores = await servers.stores();
  await added(stores);
  const lease = await takeOne(stores);
  await lease.settle({ kind: "again", afterSeconds: 2000, job: lease.job });
  for (let times = 0; times < 2; times += 1) {
    await stores.advance(901);
    assert.deepEqual(await stores.queue.take(10), []);
  }
  await stores.advance(199);
  assert.equal((await takeOne(stores)).attempt, 1);
});

test("a process that was paused for longer than its lease goes on when it gets its own message again", async () => {
  await using stores = await servers.stores();
  await added(stores);
  const late = await takeOne(stores);
  await stores.advance(stores.leaseSeconds + 1);
  assert.equal(await late.extend(), true);
  assert.deepEqual(await stores.queue.take(10), []);
  assert.equal(await late.settle(done), true);
  assert.deepEqual(await counted(stores), nothingLeft);
});

test("a job that was finished too late by one that was paused, and taken by nobody else, does not run again", async () => {
  await using stores = await servers.stores();
  await added(stores);
  const late = await takeOne(stores);
  await stores.advance(stores.leaseSeconds + 1);
  assert.equal(await late.settle(done), true);
  assert.deepEqual(await stores.queue.take(10), []);
  assert.deepEqual(await counted(stores), nothingLeft);
});

test("while one that was paused goes on, others that get its message leave it alone, also afterwards", async () => {
  await using stores = await servers.stores();
  const job = await added(stores);
  const late = await takeOne(stores);
  await stores.advance(stores.leaseSeconds + 1);
  await using other = await stores.another();
  assert.equal(await late.extend(), true);
  assert.deepEqual(await other.queue.take(10), []);
  assert.equal(await late.save({ ...job, report: cleanReport }), true);
  assert.equal(await late.settle(done), true);
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual(await other.queue.take(10), []);
  assert.deepEqual(await counted(other), nothingLeft);
  assert.deepEqual((await other.browser.list({ limit: 10 })).entries, []);
});

test("a second message of a job that somebody works on is deleted", async () => {
  await using stores = await servers.stores();
  const job = await added(stores, { customData: "plain" });
  const lease = await takeOne(stores);
  // Put back and sent again by another process that died before it had deleted the old message.
  const { queueUrl } = stores.options;
  await servers.sqs.send(
    queueUrl,
    JSON.stringify({ lazaret: "job", added: await addedOf(stores.options.tableName), job }),
  );
  await using other = await stores.another();
  assert.deepEqual(await other.queue.take(10), []);
  assert.deepEqual(await counted(other), { ...nothingLeft, leased: 1 });
  assert.equal(await lease.settle(done), true);
});

async function addedOf(tableName: string): Promise<string | undefined> {
  const item = (await servers.dynamodb.items(tableName)).find(({ pk }) => pk?.S?.startsWith("jobs#"));
  return item?.sk?.S?.split("#")[0];
}

test("a queue that redelivers more often than we do leaves it to us to bury what killed its workers", async () => {
  const queues = await servers.sqs.queues(2 * MAX_ATTEMPTS);
  await using stores = await servers.stores(queues);
  const job = await added(stores);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const lease = await takeOne(stores);
    assert.equal(lease.attempt, attempt);
    await lease.save({ ...job, report: cleanReport });
    await stores.advance(stores.leaseSeconds + 1);
  }
  assert.deepEqual(await stores.queue.take(10), []);
  assert.equal((await stores.deadLetters.show(job.id))?.reason, POISON);
  assert.deepEqual(await counted(stores), { ...nothingLeft, buried: 1 });
  assert.equal(await stores.deadLetters.redrive([job.id]), 1);
  assert.deepEqual(withoutLife((await takeOne(stores)).job), { ...job, report: cleanReport });
});

test("a job that SQS buried keeps its report when it is redriven", async () => {
  await using stores = await servers.stores();
  const job = await added(stores);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await (await takeOne(stores)).save({ ...job, report: cleanReport, failedCallbacks: 2 });
    await stores.advance(stores.leaseSeconds + 1);
  }
  assert.deepEqual(await stores.queue.take(10), []);
  assert.deepEqual((await stores.deadLetters.show(job.id))?.job?.report, cleanReport);
  assert.equal(await stores.deadLetters.redrive("all"), 1);
  const lease = await takeOne(stores);
  assert.deepEqual([withoutLife(lease.job), lease.attempt], [{ ...job, report: cleanReport }, 1]);
});

test("a job that SQS buried tells when that was, not when somebody first saw it", async () => {
  await using stores = await servers.stores();
  const job = await added(stores);
  let lastTaken = 0;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await takeOne(stores);
    lastTaken = servers.sqs.now();
    await stores.advance(stores.leaseSeconds + 1);
  }
  assert.deepEqual(await stores.queue.take(10), []);
  await stores.advance(2 * 3600);
  const { buriedAt = 0 } = (await stores.deadLetters.show(job.id)) ?? {};
  const afterSeconds = (buriedAt - lastTaken) / 1000;
  assert.ok(
    afterSeconds >= 0 && afterSeconds <= stores.leaseSeconds + 1,
    `buried ${afterSeconds} s after its last try`,
  );
});

test("dead letters that are put back with other tools run again, as they were", async () => {
  await using stores = await servers.stores();
  const job = await added(stores);
  const lease = await takeOne(stores);
  const scanned = { ...job, report: cleanReport };
  await lease.settle({ kind: "buried", reason: "test", job: scanned });
  const { queueUrl, deadLetterQueueUrl } = stores.options;
  assert.equal(await servers.sqs.move(deadLetterQueueUrl, queueUrl), 1);
  const again = await takeOne(stores);
  assert.deepEqual([again.job, again.attempt], [scanned, 1]);
  assert.deepEqual(await stores.deadLetters.list({ limit: 10 }), { entries: [], next: undefined });
});

test("lists the dead letters of many pages, newest first", async () => {
  await using stores = await servers.stores();
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) {
    await added(stores);
    const lease = await takeOne(stores);
    await lease.settle({ kind: "buried", reason: "test", job: lease.job });
    ids.unshift(lease.job.id);
    await stores.advance(1);
  }
  const first = await stores.deadLetters.list({ limit: 3 });
  const second = await stores.deadLetters.list({ limit: 3, after: first.next ?? "" });
  assert.deepEqual(
    [...first.entries, ...second.entries].map(({ id }) => id),
    ids,
  );
});

test("a dead letter whose message SQS did not keep any longer can be purged", async () => {
  await using stores = await servers.stores();
  const { id } = await added(stores);
  const lease = await takeOne(stores);
  await lease.settle({ kind: "buried", reason: "test", job: lease.job });
  const elsewhere = await servers.sqs.queues();
  await servers.sqs.move(stores.options.deadLetterQueueUrl, elsewhere.queueUrl);
  assert.equal(await stores.deadLetters.redrive([id]), 0);
  assert.equal(await stores.deadLetters.purge([id]), 1);
  assert.equal(await stores.deadLetters.show(id), undefined);
});

test("what the table holds of a job has no header values, queries or custom data", async () => {
  await using stores = await servers.stores();
  const job = await added(stores, { customData: "custom-of-the-client" });
  const seen: unknown[] = [];
  const look = async (): Promise<unknown> => seen.push(await servers.dynamodb.items(stores.options.tableName));
  await look();
  const lease = await takeOne(stores);
  const scanned: Job = {
    ...job,
    source: { kind: "url", url: "https://files.example/a", headers: {} },
    report: cleanReport,
  };
  await lease.save(scanned);
  await look();
  await lease.settle({ kind: "again", afterSeconds: 0, job: { ...scanned, failedCallbacks: 1 } });
  await look();
  const again = await takeOne(stores);
  await again.settle({ kind: "buried", reason: "test", job: again.job });
  await look();
  assert.match(JSON.stringify(seen), /files\.example/);
  assert.doesNotMatch(JSON.stringify(seen), /of-the-source|of-the-callback|of-the-client/);
});

test("everything in the table goes by itself one day", async () => {
  await using stores = await servers.stores();
  await added(stores, { traceId: "a" });
  await added(stores);
  await stores.queue.take(1);
  for (const { expires_at } of await servers.dynamodb.items(stores.options.tableName)) {
    const days = (Number(expires_at?.N) - servers.sqs.now() / 1000) / 86_400;
    assert.ok(days > 14 && days < 40, `${days} days`);
  }
});

test("a result is expected for as long as its job is put back, however long that is", async () => {
  await using stores = await servers.stores();
  const job = await added(stores, { traceId: "slow", submittedAt: servers.sqs.now() });
  const lease = await takeOne(stores);
  await stores.advance(20 * 86_400);
  assert.equal(await lease.settle({ kind: "again", afterSeconds: 5, job }), true);
  const items = await servers.dynamodb.items(stores.options.tableName);
  const expected = items.find(({ sk }) => sk?.S === "result");
  assert.ok(Number(expected?.expires_at?.N) > servers.sqs.now() / 1000 + 29 * 86_400);
});

test("a job that somebody waited for and did not take is there for others at once", async () => {
  await using stores = await servers.stores();
  const job = await added(stores);
  const waited = await stores.another();
  await waited.queue.wait(new AbortController().signal);
  assert.deepEqual(await counted(stores), { ...nothingLeft, leased: 1 });
  await waited.close();
  assert.deepEqual((await takeOne(stores)).job, job);
});

test("waiting brings the job along, and the next to take gets it", async () => {
  await using stores = await servers.stores();
  await using other = await stores.another();
  const waiting = stores.queue.wait(new AbortController().signal);
  const job = await added(other);
  await waiting;
  assert.deepEqual((await takeOne(stores)).job, job);
});

test("messages of one tenant are one group to SQS, which does not show whose, however often they are sent anew", async () => {
  await using sqs = await faultyProxy(servers.sqs.endpoint);
  const groups: unknown[] = [];
  sqs.fault = (operation, body) => {
    if (operation === "SendMessageBatch") groups.push(JSON.parse(body).Entries[0].MessageGroupId);
    return undefined;
  };
  await using stores = await servers.stores({ endpoints: { sqs: sqs.endpoint, dynamodb: servers.dynamodb.endpoint } });
  await added(stores, { tenant: "shop" });
  const first = await takeOne(stores);
  await first.settle({ kind: "again", afterSeconds: 0, job: first.job });
  const second = await takeOne(stores);
  await second.settle({ kind: "buried", reason: "test", job: second.job });
  await stores.deadLetters.redrive("all");
  await added(stores, { tenant: "lab" });
  const [shop, putBack, buried, redriven, lab] = groups;
  assert.match(String(shop), /^[0-9a-f]{24}$/);
  assert.deepEqual([putBack, buried, redriven], [shop, undefined, shop]);
  assert.match(String(lab), /^[0-9a-f]{24}$/);
  assert.notEqual(lab, shop);
});

async function listed({ browser }: Stores): Promise<string[]> {
  return (await browser.list({ limit: 10 })).entries.map(({ id }) => id).toSorted();
}

test("an item that no message stands for goes when the queue is empty, and not before", async () => {
  await using stores = await servers.stores();
  // Of the same table, and another queue: its item is what a kill between item and message leaves.
  await using elsewhere = await servers.stores({ tableName: stores.options.tableName });
  const unsent = await added(elsewhere);
  const waiting = await added(stores);
  await stores.advance(16 * 60);
  const lease = await takeOne(stores);
  assert.deepEqual(await stores.queue.take(1), []);
  assert.deepEqual(await listed(stores), [unsent.id, waiting.id].toSorted(), "one of them is under way");
  await lease.settle(done);
  await stores.advance(61);
  await stores.queue.counts();
  assert.deepEqual(await listed(stores), [unsent.id], "who only counts may not delete");
  assert.deepEqual(await stores.queue.take(1), []);
  assert.deepEqual(await listed(stores), []);
});

test("an item that is taken away too early comes back with its message, and one with progress stays", async () => {
  await using stores = await servers.stores();
  const [fresh, scanned] = [await added(stores), await added(stores)];
  for (const lease of await stores.queue.take(2)) {
    const job = lease.job.id === fresh.id ? fresh : { ...scanned, report: cleanReport };
    await lease.settle({ kind: "again", afterSeconds: 0, job });
  }
  const untouched = await added(stores);
  await stores.advance(16 * 60);
  // Its queue is empty, as SQS says of one that is not, when it is behind with its counts.
  await using elsewhere = await servers.stores({ tableName: stores.options.tableName });
  assert.deepEqual(await elsewhere.queue.take(1), []);
  assert.deepEqual(await listed(stores), [fresh.id, scanned.id].toSorted());
  const jobs = new Map((await stores.queue.take(10)).map(({ job }) => [job.id, job]));
  assert.deepEqual(jobs.get(scanned.id)?.report, cleanReport);
  assert.deepEqual(jobs.get(untouched.id), untouched);
});

test("a worker takes jobs although what was left behind cannot be looked for", async () => {
  await using stores = await servers.stores();
  await using proxy = await faultyProxy(servers.sqs.endpoint);
  await using worker = await servers.stores({
    ...stores.options,
    endpoints: { ...stores.options.endpoints, sqs: proxy.endpoint },
  });
  proxy.fault = (operation) =>
    operation === "GetQueueAttributes" ? { kind: "refused", status: 403, code: "AccessDenied" } : undefined;
  assert.deepEqual(await worker.queue.take(1), []);
  assert.ok(proxy.asked.includes("GetQueueAttributes"));
  const job = await added(stores);
  assert.equal((await takeOne(worker)).job.id, job.id);
});
