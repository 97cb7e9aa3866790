import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { rawServer } from "../../../../test/support/loopback-server.ts";
import { s3Server } from "../../../../test/support/s3-server/s3-server.ts";
import { type S3Store, s3Store, useCredentials } from "../../../../test/support/s3-server/s3-store.ts";
import { until } from "../../../../test/support/until.ts";
import { type ObjectRef, SourceFailed, type SourceFailure } from "../../../model/source.ts";
import { s3Objects } from "./objects.ts";
import "../../../../test/support/leftovers.ts";

const object: ObjectRef = { bucket: "bucket", key: "key" };
const MIB = 1024 * 1024;
const LIMIT_MS = 60_000;

test("a store that asks for fewer requests twice is asked again, within the same run", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "refuse", status: 503, code: "SlowDown" }, { times: 2 });
  assert.equal(await textOf(made), "text");
  assert.equal(made.server.requests.length, 3);
});

test("a store that asks for fewer requests again and again is left to a later try", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "refuse", status: 503, code: "SlowDown" });
  const { finding, code, statusCode, passing } = await failureOf(made);
  assert.deepEqual([finding, code, statusCode, passing], ["scanner:download-failed", "SlowDown", 503, true]);
  assert.equal(made.server.requests.length, 3);
});

test("access that is denied is not asked for twice", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "refuse", status: 403, code: "AccessDenied" });
  const { finding, code, passing } = await failureOf(made);
  assert.deepEqual([finding, code, passing], ["scanner:object-access-denied", "AccessDenied", false]);
  assert.equal(made.server.requests.length, 1);
});

test("an archived object says that it has to be restored", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "refuse", status: 403, code: "InvalidObjectState" });
  const { finding, message, passing } = await failureOf(made);
  assert.deepEqual([finding, passing], ["scanner:object-access-denied", false]);
  assert.match(message, /restored/);
});

test("something in between that fails without XML is told by its status", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "refuse", status: 502 });
  const { finding, code, passing } = await failureOf(made);
  assert.deepEqual([finding, code, passing], ["scanner:download-failed", "HTTP_502", true]);
});

test("a connection that is closed without an answer may be another in a while", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "drop" });
  const { finding, code, passing } = await failureOf(made);
  assert.deepEqual([finding, code, passing], ["scanner:download-failed", "ECONNRESET", true]);
});

test("a store that is down may be up in a while, and its address is not told", async () => {
  await using made = await withObject("text");
  const gone = await s3Server();
  await gone[Symbol.asyncDispose]();
  const store = await s3Objects({ endpoint: gone.endpoint, forcePathStyle: true });
  const failure = await failureOf({ ...made, store });
  assert.deepEqual([failure.code, failure.passing], ["ECONNREFUSED", true]);
  assert.doesNotMatch(JSON.stringify(failure), /127\.0\.0\.1/);
  await store.close();
});

test("a store that never answers is given up", async () => {
  await using made = await withObject("text", { headersTimeoutMs: 50 });
  made.server.fail({ kind: "hang" });
  const { finding, code, passing } = await failureOf(made);
  assert.deepEqual([finding, code, passing], ["scanner:download-failed", "ETIMEDOUT", true]);
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("credentials that the store does not accept may be mended in a while, and are not told", async () => {
  await using made = await withObject("text");
  for (const [credentials, code] of [
    [{ ...made.server.credentials, secretAccessKey: "another-secret" }, "SignatureDoesNotMatch"],
    [{ ...made.server.credentials, accessKeyId: "AKIDOFNOBODY" }, "InvalidAccessKeyId"],
    [undefined, "CredentialsProviderError"],
  ] as const) {
    useCredentials(credentials);
    const store = await s3Objects({ endpoint: made.server.endpoint, forcePathStyle: true });
    const failure = await failureOf({ ...made, store });
    assert.deepEqual([failure.finding, failure.code, failure.passing], ["scanner:object-access-denied", code, true]);
    assert.doesNotMatch(JSON.stringify(failure), /another-secret|AKID/);
    await store.close();
  }
});

test("a body that is cut never ends as if it were whole", async () => {
  await using made = await withObject(randomBytes(300_000));
  for (const afterBytes of [0, 1, 100_000, 299_999]) {
    made.server.recover();
    made.server.fail({ kind: "cut", afterBytes });
    const { finding, code, passing } = await failureOf(made);
    assert.deepEqual([finding, code, passing], ["scanner:download-failed", "short_body", true], `${afterBytes} bytes`);
  }
});

test("a body without a length that ends with its connection might be cut, and is not taken for whole", async () => {
  const head = 'HTTP/1.1 200 OK\r\nETag: "a"\r\nConnection: close\r\n\r\n';
  await using server = await rawServer((socket) => void socket.end(`${head}some bytes`));
  await using made = await withObject("text");
  const store = await s3Objects({ endpoint: `http://127.0.0.1:${server.port}`, forcePathStyle: true });
  assert.equal((await failureOf({ ...made, store })).code, "short_body");
  await store.close();
});

test("a body without a length that says where it ends is whole", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "garble", change: ({ headers, ...rest }) => ({ ...rest, headers: chunked(headers) }) });
  const opened = await made.store.open(object, made.signal);
  assert.equal(opened.announcedBytes, undefined);
  assert.equal(String(Buffer.concat(await Array.fromAsync(opened.bytes))), "text");
});

test("a part of an object is not taken for the whole", async () => {
  await using made = await withObject("text");
  made.server.fail({ kind: "garble", change: (answer) => ({ ...answer, status: 206 }) });
  const { finding, code } = await failureOf(made);
  assert.deepEqual([finding, code], ["scanner:download-failed", "HTTP_206"]);
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("a store that overlooks that a version was asked for does not have it", async () => {
  await using made = await withObject("text");
  made.server.fail({
    kind: "garble",
    change: ({ headers: { "x-amz-version-id": _, ...headers } = {}, ...rest }) => ({ ...rest, headers }),
  });
  const version = made.server.bucket("bucket", "enabled").put("key", Buffer.from("newer")).id;
  const failure = await failureOf(made, { ...object, version });
  assert.deepEqual([failure.finding, failure.code], ["scanner:object-not-found", "wrong_version"]);
});

test("a store that stops sending is given up", async () => {
  await using made = await withObject("many bytes", { idleTimeoutMs: 50 });
  made.server.fail({ kind: "stall", afterBytes: 4 });
  const { finding, code, passing } = await failureOf(made);
  assert.deepEqual([finding, code, passing], ["scanner:download-failed", "body_timeout", true]);
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("bytes are taken only as fast as they are read", async () => {
  const bytes = Buffer.alloc(64 * MIB, randomBytes(MIB));
  await using made = await withObject(bytes);
  const { bytes: reading } = await made.store.open(object, made.signal);
  const chunks = reading[Symbol.asyncIterator]();
  const hash = createHash("sha256");
  const first = await chunks.next();
  assert.ok(!first.done);
  hash.update(first.value);

  let seen = -1;
  let same = 0;
  await until(
    "the store can send no more",
    () => {
      same = made.server.sentBytes === seen ? same + 1 : 0;
      seen = made.server.sentBytes;
      return same === 20;
    },
    { limitMs: LIMIT_MS },
  );
  assert.ok(seen < 48 * MIB, `${seen} bytes were taken`);
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) hash.update(next.value);
  assert.equal(hash.digest("hex"), createHash("sha256").update(bytes).digest("hex"));
});

test("an object that nobody reads lets go of its connection", async () => {
  await using made = await withObject(Buffer.alloc(64 * MIB));
  const { bytes } = await made.store.open(object, made.signal);
  await bytes[Symbol.asyncIterator]().return?.();
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("reading that is stopped half way lets go of its connection, also while it waits", async () => {
  await using made = await withObject("many bytes");
  made.server.fail({ kind: "stall", afterBytes: 4 });
  const { bytes } = await made.store.open(object, made.signal);
  const chunks = bytes[Symbol.asyncIterator]();
  await chunks.next();
  const waiting = chunks.next().catch(() => {});
  await chunks.return?.();
  await waiting;
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("what was read, stopped or refused holds on to nothing of its signal", async () => {
  await using made = await withObject("text");
  const { signal } = new AbortController();
  const held = (): number => getEventListeners(signal, "abort").length;

  const { bytes } = await made.store.open(object, signal);
  assert.ok(held() > 0);
  await Array.fromAsync(bytes);
  assert.equal(held(), 0);

  const stopped = await made.store.open(object, signal);
  await stopped.bytes[Symbol.asyncIterator]().return?.();
  assert.equal(held(), 0);

  await failureOf({ store: made.store, signal }, { ...object, key: "another" });
  assert.equal(held(), 0);
});

test("a signal that was aborted before asks for nothing", async () => {
  await using made = await withObject("text");
  const reason = new Error("stopped");
  await assert.rejects(made.store.open(object, AbortSignal.abort(reason)), reason);
  assert.equal(made.server.requests.length, 0);
});

for (const [when, fault] of [
  ["while the store is silent", { kind: "hang" }],
  ["between two tries", { kind: "refuse", status: 503, code: "SlowDown" }],
] as const) {
  test(`a signal that aborts ${when} ends the wait`, async () => {
    await using made = await withObject("text");
    made.server.fail(fault);
    const aborting = new AbortController();
    const reason = new Error("stopped");
    const opening = assert.rejects(made.store.open(object, aborting.signal), reason);
    await until("the store was asked", () => made.server.requests.length > 0, { limitMs: LIMIT_MS });
    aborting.abort(reason);
    await opening;
    await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
  });
}

test("a signal that aborts in the middle of the bytes closes the connection", async () => {
  await using made = await withObject("many bytes");
  made.server.fail({ kind: "stall", afterBytes: 4 });
  const aborting = new AbortController();
  const { bytes } = await made.store.open(object, aborting.signal);
  const chunks = bytes[Symbol.asyncIterator]();
  assert.equal(String((await chunks.next()).value), "many");
  const reason = new Error("stopped");
  const waiting = assert.rejects(chunks.next(), reason);
  aborting.abort(reason);
  await waiting;
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

test("closing the store ends what is under way", async () => {
  await using made = await withObject("many bytes");
  made.server.fail({ kind: "stall", afterBytes: 4 }, { times: 1 });
  made.server.fail({ kind: "hang" });
  const { bytes } = await made.store.open(object, made.signal);
  const reading = assert.rejects(Array.fromAsync(bytes), /the object store is closed/);
  const opening = assert.rejects(made.store.open(object, made.signal), /the object store is closed/);
  await until("both are under way", () => made.server.underWay === 2, { limitMs: LIMIT_MS });
  await made.store.close();
  await Promise.all([reading, opening]);
  await until("no connection is held", () => made.server.underWay === 0, { limitMs: LIMIT_MS });
});

async function withObject(bytes: string | Buffer, options: Parameters<typeof s3Store>[1] = {}): Promise<S3Store> {
  const made = await s3Store({}, options);
  made.server.bucket("bucket").put("key", Buffer.from(bytes));
  return made;
}

async function textOf({ store, signal }: S3Store): Promise<string> {
  const { bytes } = await store.open(object, signal);
  return String(Buffer.concat(await Array.fromAsync(bytes)));
}

/** Why it could not be opened, or read to its end. */
async function failureOf({ store, signal }: Pick<S3Store, "store" | "signal">, named = object): Promise<SourceFailure> {
  try {
    await Array.fromAsync((await store.open(named, signal)).bytes);
  } catch (error) {
    if (error instanceof SourceFailed) return error.failure;
    throw error;
  }
  throw new assert.AssertionError({ message: "the object was read" });
}

function chunked(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { "content-length": _, ...others } = headers;
  return { ...others, "transfer-encoding": "chunked" };
}
