import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { AwsUnavailable } from "../../src/platforms/aws/aws-unavailable.ts";
import { type AwsStores, startAws } from "../support/aws/aws-stores.ts";
import { type Fault, type FaultyProxy, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { added, takeOne } from "./job-queue.ts";
import { cleanReport, sampleFinding, sampleJob, traced, withoutLife } from "./sample-job.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

interface Faulty extends AsyncDisposable {
  stores: AwsStores;
  sqs: FaultyProxy;
  dynamodb: FaultyProxy;
}

async function faultyStores(options: { requestTimeoutMs?: number } = {}): Promise<Faulty> {
  const sqs = await faultyProxy(servers.sqs.endpoint);
  const dynamodb = await faultyProxy(servers.dynamodb.endpoint);
  const stores = await servers.stores({ endpoints: { sqs: sqs.endpoint, dynamodb: dynamodb.endpoint }, ...options });
  return {
    stores,
    sqs,
    dynamodb,
    async [Symbol.asyncDispose]() {
      sqs.fault = () => undefined;
      dynamodb.fault = () => undefined;
      await stores.close();
      await sqs[Symbol.asyncDispose]();
      await dynamodb[Symbol.asyncDispose]();
    },
  };
}

const always = (operation: string, fault: Fault) => (asked: string) => (asked === operation ? fault : undefined);

/** The first time only. */
function once(operation: string, fault: Fault): (asked: string) => Fault | undefined {
  let left = 1;
  return (asked) => {
    if (asked !== operation || left === 0) return undefined;
    left -= 1;
    return fault;
  };
}

test("every expression sent to the table is one line: stand-ins refuse others", async () => {
  await using faulty = await faultyStores();
  const { stores } = faulty;
  const expressions: string[] = [];
  faulty.dynamodb.fault = (_, body) => {
    const found = Object.entries(JSON.parse(body)).filter(([name]) => name.endsWith("Expression"));
    expressions.push(...found.map(([, text]) => String(text)));
    return undefined;
  };
  const job = await added(stores);
  const lease = await takeOne(stores);
  await lease.save({ ...job, report: cleanReport });
  await lease.settle({ kind: "buried", reason: "of this test", job });
  await stores.deadLetters.list({ limit: 1 });
  await stores.deadLetters.redrive("all");
  await (await takeOne(stores)).settle(done);
  assert.ok(expressions.length >= 6, `${expressions.length} expressions`);
  assert.deepEqual(
    expressions.filter((text) => /[\r\n]/.test(text)),
    [],
  );
});

const broken: Fault = { kind: "refused", status: 500, code: "InternalFailure" };

for (const [code, status, words, hint] of [
  ["RequestThrottled", 400, "asks for fewer requests", "quotas"],
  ["ThrottlingException", 400, "asks for fewer requests", "quotas"],
  ["ExpiredToken", 403, "credentials have expired", "role"],
  ["ExpiredTokenException", 400, "credentials have expired", "role"],
  ["InvalidClientTokenId", 403, "does not accept the credentials", "role"],
  ["AccessDeniedException", 400, "access is denied", "permissions"],
  ["QueueDoesNotExist", 400, "no such queue", "URL"],
  ["InternalFailure", 500, "answered 500", "passes by itself"],
  ["ServiceUnavailable", 503, "answered 503", "passes by itself"],
] as const) {
  test(`a queue that answers ${code} refuses the job, and says what helps`, async () => {
    await using faulty = await faultyStores();
    const { stores, sqs } = faulty;
    sqs.fault = always("SendMessageBatch", { kind: "refused", status, code });
    const error = await stores.queue.add(sampleJob()).then(
      () => assert.fail("it was added"),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof QueueUnavailable && error instanceof AwsUnavailable);
    assert.match(error.message, new RegExp(`^cannot send to the job queue: .*${words}`));
    assert.match(error.hint, new RegExp(hint));
    assert.doesNotMatch(JSON.stringify([error, error.message, error.stack]), /of-the-source|of-the-callback|AWS4-HMAC/);
    assert.ok(sqs.asked.filter((operation) => operation === "SendMessageBatch").length <= 3, "tries are few");
    assert.deepEqual((await stores.browser.list({ limit: 10 })).entries, [], "a job that was refused is not there");
  });
}

test("a table that asks for fewer writes refuses the job, and nothing is sent", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  dynamodb.fault = always("PutItem", { kind: "refused", status: 400, code: "ProvisionedThroughputExceededException" });
  await assert.rejects(stores.queue.add(sampleJob()), /cannot write to the table: .*fewer requests/);
  assert.deepEqual(sqs.asked, []);
});

for (const kind of ["cut", "silent"] as const) {
  test(`a queue that cannot be reached (${kind}) refuses the job`, async () => {
    await using faulty = await faultyStores({ requestTimeoutMs: 300 });
    faulty.sqs.fault = always("SendMessageBatch", { kind });
    await assert.rejects(faulty.stores.queue.add(sampleJob()), QueueUnavailable);
  });
}

test("a trouble that passes is bridged, and nobody notices", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  sqs.fault = once("SendMessageBatch", { kind: "refused", status: 500, code: "InternalFailure" });
  dynamodb.fault = once("PutItem", { kind: "cut" });
  const job = await added(stores);
  sqs.fault = once("ReceiveMessage", broken);
  dynamodb.fault = once("UpdateItem", { kind: "refused", status: 500, code: "InternalServerError" });
  assert.deepEqual((await takeOne(stores)).job, job);
});

for (const code of ["InternalError", undefined]) {
  test(`of jobs sent together only that fails which the queue ${code ? "refused" : "did not confirm"}`, async () => {
    await using faulty = await faultyStores();
    const { stores, sqs } = faulty;
    sqs.fault = once("SendMessageBatch", { kind: "entry refused", ...(code !== undefined && { code }) });
    const jobs = Array.from({ length: 8 }, () => sampleJob());
    const outcomes = await Promise.allSettled(jobs.map((job) => stores.queue.add(job)));
    const kept = jobs.filter((_, index) => outcomes[index]?.status === "fulfilled").map(({ id }) => id);
    assert.equal(kept.length, 7);
    const refused = outcomes.find((outcome) => outcome.status === "rejected");
    assert.ok(refused?.reason instanceof QueueUnavailable);
    const taken = await stores.queue.take(10);
    assert.deepEqual(taken.map(({ job }) => job.id).toSorted(), kept.toSorted());
  });
}

test("a submission that is refused does not hide the result of the one before it", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  const first = { ...traced("a"), jobId: "first", submittedAt: 1 };
  await stores.queue.add(sampleJob({ id: "first", traceId: "a" }));
  await stores.results.keep(first, cleanReport);
  for (const fault of [broken, { kind: "answer lost" }] as const) {
    sqs.fault = always("SendMessageBatch", fault);
    const job = sampleJob({ traceId: "a" });
    await assert.rejects(stores.queue.add(job), QueueUnavailable);
    assert.deepEqual(await stores.results.find(traced("a")), cleanReport);
  }
});

test("no job is sent before it is known whose result is expected", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  dynamodb.fault = always("PutItem", { kind: "cut" });
  const job = sampleJob();
  await assert.rejects(stores.queue.add(job), QueueUnavailable);
  assert.deepEqual(sqs.asked, []);
});

test("a job that was sent twice, because an answer was lost, runs once", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  sqs.fault = once("SendMessageBatch", { kind: "answer lost" });
  const job = await added(stores);
  assert.equal((await stores.queue.counts()).ready, 2);
  const lease = await takeOne(stores);
  assert.deepEqual(lease.job, job);
  assert.equal(await lease.settle(done), true);
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual(await stores.queue.take(10), []);
});

test("a claim, a save and a settlement whose answers were lost count all the same", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  const job = await added(stores);
  dynamodb.fault = once("UpdateItem", { kind: "answer lost" });
  const lease = await takeOne(stores);
  dynamodb.fault = once("UpdateItem", { kind: "answer lost" });
  const scanned = { ...job, report: cleanReport };
  assert.equal(await lease.save(scanned), true);
  dynamodb.fault = once("UpdateItem", { kind: "answer lost" });
  assert.equal(await lease.extend(), true);
  dynamodb.fault = once("DeleteItem", { kind: "answer lost" });
  sqs.fault = once("DeleteMessageBatch", { kind: "answer lost" });
  assert.equal(await lease.settle(done), true);
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual(await stores.queue.take(10), [], "it is done");
});

for (const kind of ["again", "buried"] as const) {
  test(`a job is settled once (${kind}), though the answer was lost`, async () => {
    await using faulty = await faultyStores();
    const { stores, dynamodb } = faulty;
    const job = await added(stores);
    const lease = await takeOne(stores);
    dynamodb.fault = once("UpdateItem", { kind: "answer lost" });
    const settlement = kind === "again" ? { kind, afterSeconds: 5, job } : { kind, reason: "test", job };
    assert.equal(await lease.settle(settlement), true);
    const { oldestSeconds: _, ...counts } = await stores.queue.counts();
    const none = { ready: 0, delayed: 0, leased: 0, buried: 0 };
    assert.deepEqual(counts, kind === "again" ? { ...none, delayed: 1 } : { ...none, buried: 1 });
  });
}

test("while the table cannot be asked no messages are used up; then all jobs are there", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  for (let count = 0; count < 3; count += 1) await added(stores);
  dynamodb.fault = () => ({ kind: "refused", status: 500, code: "InternalServerError" });
  await assert.rejects(stores.queue.take(2), QueueUnavailable);
  const receives = (): number => sqs.asked.filter((operation) => operation === "ReceiveMessage").length;
  const before = receives();
  for (let count = 0; count < 3; count += 1) await assert.rejects(stores.queue.take(2), QueueUnavailable);
  assert.equal(receives(), before);
  await stores.advance(stores.leaseSeconds / 2 + 1);
  assert.deepEqual(await stores.queue.take(2), [], "what lay there for long is left to others");
  await assert.rejects(stores.queue.take(2), QueueUnavailable);
  assert.equal(receives(), before);
  dynamodb.fault = () => undefined;
  await stores.advance(stores.leaseSeconds);
  const taken = [...(await stores.queue.take(10)), ...(await stores.queue.take(10))];
  assert.deepEqual(taken.map(({ attempt }) => attempt).toSorted(), [1, 2, 2]);
});

test("a job whose message could not be deleted does not run again", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  await added(stores);
  const lease = await takeOne(stores);
  sqs.fault = always("DeleteMessageBatch", broken);
  assert.equal(await lease.settle(done), true);
  sqs.fault = () => undefined;
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual(await stores.queue.take(10), []);
  const { oldestSeconds: _, ...counts } = await stores.queue.counts();
  assert.deepEqual(counts, { ready: 0, delayed: 0, leased: 0, buried: 0 });
});

test("a job that could not be sent back comes again by its old message, as it was handed back", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  const job = await added(stores);
  const lease = await takeOne(stores);
  sqs.fault = always("SendMessageBatch", broken);
  const scanned = { ...job, report: cleanReport, failedCallbacks: 1 };
  assert.equal(await lease.settle({ kind: "again", afterSeconds: 5, job: scanned }), true);
  sqs.fault = () => undefined;
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual((await takeOne(stores)).job, scanned);
});

test("a dead letter that could not be sent is sent later, and its job does not run again", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  const job = await added(stores);
  const lease = await takeOne(stores);
  sqs.fault = always("SendMessageBatch", broken);
  const scanned = { ...job, report: cleanReport };
  await assert.rejects(lease.settle({ kind: "buried", reason: "test", job: scanned }), QueueUnavailable);
  sqs.fault = () => undefined;
  await stores.advance(stores.leaseSeconds + 1);
  assert.deepEqual(await stores.queue.take(10), []);
  assert.equal((await stores.queue.counts()).buried, 1);
  assert.equal((await stores.deadLetters.show(job.id))?.reason, "test");
  assert.equal(await stores.deadLetters.redrive("all"), 1);
  assert.deepEqual(withoutLife((await takeOne(stores)).job), scanned);
});

test("a job that was buried twice, because a message could not be deleted, is redriven and purged once", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs } = faulty;
  for (const verb of ["redrive", "purge"] as const) {
    await added(stores);
    const lease = await takeOne(stores);
    sqs.fault = always("DeleteMessageBatch", broken);
    assert.equal(await lease.settle({ kind: "buried", reason: "test", job: lease.job }), true);
    sqs.fault = () => undefined;
    await stores.advance(stores.leaseSeconds + 1);
    assert.deepEqual(await stores.queue.take(10), []);
    assert.equal((await stores.queue.counts()).buried, 2);
    assert.equal((await stores.deadLetters.list({ limit: 10 })).entries.length, 1);
    assert.equal(await stores.deadLetters[verb]("all"), 1);
    assert.equal((await stores.queue.counts()).buried, 0);
    if (verb === "redrive") await (await takeOne(stores)).settle(done);
  }
});

test("a redrive and a purge whose answers were lost count all the same", async () => {
  await using faulty = await faultyStores();
  const { stores, dynamodb } = faulty;
  const job = await added(stores);
  await (await takeOne(stores)).settle({ kind: "buried", reason: "test", job });
  dynamodb.fault = once("UpdateItem", { kind: "answer lost" });
  assert.equal(await stores.deadLetters.redrive("all"), 1);
  await (await takeOne(stores)).settle({ kind: "buried", reason: "test", job });
  dynamodb.fault = once("DeleteItem", { kind: "answer lost" });
  assert.equal(await stores.deadLetters.purge("all"), 1);
  assert.equal((await stores.queue.counts()).buried, 0);
});

test("nothing can be asked of services that are down, and all of it says so", async () => {
  await using faulty = await faultyStores();
  const { stores, sqs, dynamodb } = faulty;
  await added(stores);
  const lease = await takeOne(stores);
  sqs.fault = () => ({ kind: "cut" });
  dynamodb.fault = () => ({ kind: "cut" });
  for (const asked of [
    () => stores.queue.take(1),
    () => stores.queue.counts(),
    () => lease.extend(),
    () => lease.save(lease.job),
    () => lease.settle(done),
    () => stores.deadLetters.list({ limit: 1 }),
    () => stores.deadLetters.redrive("all"),
    () => stores.browser.list({ limit: 1 }),
    () => stores.results.find(traced("a")),
    () => stores.results.keep({ ...traced("a"), jobId: "b", submittedAt: 1 }, cleanReport),
  ]) {
    await assert.rejects(asked(), QueueUnavailable);
  }
  await stores.queue.wait(new AbortController().signal);
  sqs.fault = () => undefined;
  dynamodb.fault = () => undefined;
  assert.equal(await lease.settle(done), true, "the lease was neither kept nor lost");
});

test("a job that is done stays so, though what people look at later cannot be written", async () => {
  await using faulty = await faultyStores();
  const { stores } = faulty;
  const job = await added(stores);
  const lease = await takeOne(stores);
  const refused: Fault = { kind: "refused", status: 400, code: "AccessDeniedException" };
  faulty.dynamodb.fault = (operation, body) =>
    operation === "PutItem" && JSON.parse(body).Item.pk.S.startsWith("history#") ? refused : undefined;
  assert.equal(await lease.settle({ kind: "done", job }), true);
  faulty.dynamodb.fault = () => undefined;
  assert.equal(await stores.browser.show(job.id), undefined);
  assert.equal(await stores.history.show(job.id), undefined);
  assert.deepEqual(await stores.queue.take(1), []);
});

test("a finding of which only the id was written is told of again, at the time of the first", async () => {
  await using faulty = await faultyStores();
  const { findings, now } = faulty.stores;
  const finding = sampleFinding({ at: now() });
  const refused: Fault = { kind: "refused", status: 400, code: "AccessDeniedException" };
  faulty.dynamodb.fault = (operation, body) =>
    operation === "PutItem" && JSON.parse(body).Item.content !== undefined ? refused : undefined;
  await assert.rejects(findings.add(finding), QueueUnavailable);
  faulty.dynamodb.fault = () => undefined;
  assert.deepEqual((await findings.list({ limit: 5 }))?.entries, []);
  await findings.add({ ...finding, at: finding.at + 5000 });
  assert.deepEqual((await findings.list({ limit: 5 }))?.entries, [finding]);
});
