import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { Lazaret, ResultTimeoutError, UnauthorizedError, UnreachableError } from "@lazaret/client";
import { eicar } from "../../server/test/support/eicar.ts";
import { type FileServer, fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../../server/test/support/leftovers.ts";
import { httpServer, type LoopbackServer } from "../../server/test/support/loopback-server.ts";
import { type TestService, testKey, testService } from "../../server/test/support/service.ts";

let service: TestService;
let files: FileServer;
let lazaret: Lazaret;
const buckets = temporaryFolder();
before(async () => {
  mkdirSync(join(buckets.path, "uploads"));
  writeFileSync(join(buckets.path, "uploads/eicar.txt"), eicar());
  service = await testService({ engine: "P", clamd: "none", concurrency: 2, bucketsDir: buckets.path });
  files = await fileServer();
  lazaret = new Lazaret({ baseUrl: service.url, apiKey: testKey });
});
atTheEnd(() => buckets[Symbol.dispose]());
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const at = ({ port }: LoopbackServer, options = {}): Lazaret =>
  new Lazaret({ baseUrl: `http://127.0.0.1:${port}`, apiKey: testKey, ...options });

test("a download is queued, and its result waited for", async () => {
  const { traceId } = await lazaret.async.download({ url: `${files.origin}/eicar`, traceId: "order 4711/ä?&" });
  assert.equal(traceId, "order 4711/ä?&");
  const result = await lazaret.waitForResult(traceId);
  assert.deepEqual(result, { status: "infected", finding: "EICAR_Test_File", size: 68, realfiletype: "ASCII text" });
  assert.deepEqual(await lazaret.async.result(traceId), result);
});

test("an object is scanned at once, or queued and its result waited for", async () => {
  const object = { bucket: "uploads", key: "eicar.txt" };
  const infected = { status: "infected", finding: "EICAR_Test_File", size: 68, realfiletype: "ASCII text" };
  assert.deepEqual(await lazaret.scan(object), infected);
  const { traceId } = await lazaret.async.object(object);
  assert.deepEqual(await lazaret.waitForResult(traceId), infected);
  const missing = await lazaret.scan({ ...object, key: "not-there" });
  assert.deepEqual(missing, { status: "no", finding: "scanner:object-not-found" });
});

test("a job without a traceId gets one", async () => {
  const [one, two] = await Promise.all([
    lazaret.async.download({ url: `${files.origin}/clean` }),
    lazaret.async.download({ url: `${files.origin}/clean` }),
  ]);
  assert.notEqual(one.traceId, two.traceId);
  assert.equal((await lazaret.waitForResult(one.traceId)).status, "clean");
  assert.equal((await lazaret.waitForResult(two.traceId)).status, "clean");
});

test("there is no result yet, or any more, or at all: undefined", async () => {
  assert.equal(await lazaret.async.result("never-submitted"), undefined);
});

test("waiting in vain ends with an error that names all three causes", async () => {
  await assert.rejects(lazaret.waitForResult("never-submitted", { timeoutMs: 300, firstDelayMs: 10 }), (error) => {
    assert.ok(error instanceof ResultTimeoutError);
    assert.equal(error.code, "result_timeout");
    assert.match(error.message, /^no result for the trace_id "never-submitted" within 0\.3 s/);
    assert.match(error.message, /the scan is not finished/);
    assert.match(error.message, /the result is older than 24 hours/);
    assert.match(error.message, /the trace_id is wrong/);
    return true;
  });
});

test("waiting can be stopped, and then rejects with the signal's reason", async () => {
  const controller = new AbortController();
  let polls = 0;
  await using server = await httpServer((_, response) => {
    polls += 1;
    if (polls === 3) controller.abort(new Error("not interested any more"));
    response.writeHead(404).end();
  });
  const waiting = at(server).waitForResult("t", { firstDelayMs: 1, longestDelayMs: 1, signal: controller.signal });
  await assert.rejects(waiting, /not interested any more/);
  await assert.rejects(at(server).waitForResult("t", { signal: controller.signal }), /not interested any more/);
  assert.equal(polls, 3);
});

test("a server that goes away while it is waited for is waited for too", async () => {
  let polls = 0;
  await using server = await httpServer((request, response) => {
    polls += 1;
    if (polls === 1) response.writeHead(404).end();
    else if (polls < 4) request.socket.destroy();
    else if (polls < 6) response.writeHead(503).end();
    else response.end('{"status":"clean"}');
  });
  const patient = at(server, { retries: 0 });
  assert.deepEqual(await patient.waitForResult("t", { firstDelayMs: 1, longestDelayMs: 5 }), { status: "clean" });
  assert.equal(polls, 6);
});

test("a server that never answered, or refuses, ends the waiting at once", async () => {
  await using server = await httpServer((request) => request.socket.destroy());
  await assert.rejects(at(server, { retries: 0 }).waitForResult("t"), UnreachableError);
  const wrong = new Lazaret({ baseUrl: service.url, apiKey: "not-the-right-key" });
  await assert.rejects(wrong.waitForResult("t"), UnauthorizedError);
});

test("jobs and objects are submitted as the spec writes them", async () => {
  const received: [string | undefined, unknown][] = [];
  await using server = await httpServer(async (request, response) => {
    const body = await new Response(request as unknown as ReadableStream).text();
    received.push([request.url, JSON.parse(body)]);
    if (request.url?.includes("/sync/")) response.end('{"status":"infected","finding":"F","size":3}');
    else response.writeHead(body.includes("callback_url") ? 204 : 201).end();
  });
  const client = at(server);
  const object = { bucket: "uploads", key: "a/b c.pdf", version: "v1" };
  assert.deepEqual(await client.scan(object), { status: "infected", finding: "F", size: 3 });
  await client.sync.object({ bucket: "uploads", key: "k" });
  assert.deepEqual(await client.async.object({ ...object, traceId: "t-1" }), { traceId: "t-1" });
  await client.async.object({
    bucket: "uploads",
    key: "k",
    traceId: "t-2",
    callbackUrl: "https://app.example.com/scanned",
    callbackHeaders: { "X-Mine": "1" },
    customData: "mine",
  });
  const url = new URL("https://files.example.com/a");
  await client.async.download({
    url,
    headers: { "X-Token": "t" },
    traceId: "t-3",
    callbackUrl: new URL("https://a.b/c"),
  });
  assert.deepEqual(received, [
    ["/api/v1/scan/sync/objstore", object],
    ["/api/v1/scan/sync/objstore", { bucket: "uploads", key: "k" }],
    ["/api/v1/scan/async/objstore", { ...object, trace_id: "t-1" }],
    [
      "/api/v1/scan/async/objstore",
      {
        bucket: "uploads",
        key: "k",
        trace_id: "t-2",
        callback_url: "https://app.example.com/scanned",
        callback_headers: { "X-Mine": "1" },
        custom_data: "mine",
      },
    ],
    [
      "/api/v1/scan/async/download",
      {
        download_url: "https://files.example.com/a",
        download_headers: { "X-Token": "t" },
        trace_id: "t-3",
        callback_url: "https://a.b/c",
      },
    ],
  ]);
});
