import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createCallbackVerifier, fastifyReceiver, Lazaret, nodeReceiver, type VerifiedCallback } from "@lazaret/client";
import express from "express";
import fastify from "fastify";
import { anyEngine } from "../../server/test/support/clamd.ts";
import { type FileServer, fileServer } from "../../server/test/support/file-server.ts";
import { atTheEnd } from "../../server/test/support/leftovers.ts";
import { httpServer } from "../../server/test/support/loopback-server.ts";
import { type TestService, testKey, testService } from "../../server/test/support/service.ts";
import { until } from "../../server/test/support/until.ts";

let service: TestService;
let files: FileServer;
let lazaret: Lazaret;
let keyUrl: string;
before(async () => {
  const settings = { ...(await anyEngine()), concurrency: 2, allowHttpCallbacks: true };
  service = await testService({ ...settings, signCallbackInvocations: true });
  files = await fileServer();
  lazaret = new Lazaret({ baseUrl: service.url, apiKey: testKey });
  keyUrl = `${service.url}/.well-known/lazaret/callback-key.pem`;
});
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const patience = { limitMs: 60_000 };

// spec: auth-7
test("a real callback goes from the server to a node:http receiver that fetches the key itself", async () => {
  const received: VerifiedCallback[] = [];
  let receiver: ReturnType<typeof nodeReceiver> | undefined;
  await using server = await httpServer((request, response) => void receiver?.(request, response));
  const callbackUrl = `http://127.0.0.1:${server.port}/scanned?tenant=7`;
  const verifier = createCallbackVerifier({ keyUrl, callbackUrl });
  receiver = nodeReceiver(verifier, (callback) => received.push(callback));
  const url = `${files.origin}/eicar`;
  const { traceId } = await lazaret.async.download({ url, callbackUrl, customData: "Grüße, 世界 😀" });
  await until("the callback is there", () => received.length > 0, patience);
  const [{ result, attempt } = assert.fail()] = received;
  assert.equal(attempt, 1);
  assert.equal(result.status, "infected");
  assert.deepEqual([result.trace_id, result.custom_data], [traceId, "Grüße, 世界 😀"]);
  assert.deepEqual([result.download_url, result.size], [url, 68]);
});

test("a handler that throws gets the callback again, until it takes it", async () => {
  const received: VerifiedCallback[] = [];
  const app = express();
  await using server = await httpServer(app);
  const callbackUrl = `http://127.0.0.1:${server.port}/scanned`;
  const verifier = createCallbackVerifier({
    publicKeys: await Promise.all(
      ["callback-key.pem", "callback-key.pkcs1.pem"].map(async (name) =>
        (await fetch(`${service.url}/.well-known/lazaret/${name}`)).text(),
      ),
    ),
    callbackUrl,
  });
  const errors: unknown[] = [];
  const handler = (callback: VerifiedCallback): void => {
    received.push(callback);
    if (received.length < 3) throw new Error(`not now: ${received.length}`);
  };
  app.post("/scanned", nodeReceiver(verifier, handler, { onError: (error) => errors.push(error) }));
  await lazaret.async.download({ url: `${files.origin}/clean`, callbackUrl });
  await until("the third try is there", () => received.length === 3, patience);
  assert.deepEqual(
    received.map(({ attempt }) => attempt),
    [1, 2, 3],
  );
  assert.equal(new Set(received.map(({ deliveryId }) => deliveryId)).size, 1);
  assert.equal(errors.length, 2);
});

test("one Fastify receiver takes the callbacks of many URLs", async () => {
  const received: VerifiedCallback[] = [];
  await using app = fastify();
  const verifier = createCallbackVerifier({
    keyUrl,
    callbackUrl: ({ url, header }) => `http://${header("host")}${url}`,
  });
  await app.register(fastifyReceiver(verifier, (callback) => received.push(callback), { path: "/scanned/:tenant" }));
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  for (const tenant of ["a", "b"]) {
    await lazaret.async.download({
      url: `${files.origin}/clean`,
      callbackUrl: `${address}/scanned/${tenant}`,
      traceId: tenant,
    });
  }
  await until("both callbacks are there", () => received.length === 2, patience);
  assert.deepEqual(received.map(({ result }) => result.trace_id).sort(), ["a", "b"]);
  app.server.closeAllConnections();
});

test("callbacks of jobs that were submitted under /v1 are verified with the tenant's id", async () => {
  const { tenantId } = (await (await service.call("/v1/whoami")).json()) as { tenantId: string };
  const received: VerifiedCallback[] = [];
  const refused: string[] = [];
  let receiver: ReturnType<typeof nodeReceiver> | undefined;
  await using server = await httpServer((request, response) => void receiver?.(request, response));
  const callbackUrl = `http://127.0.0.1:${server.port}/scanned`;
  receiver = nodeReceiver(
    createCallbackVerifier({ keyUrl, callbackUrl, tenantId }),
    (callback) => received.push(callback),
    { onRefused: ({ reason }) => refused.push(reason) },
  );
  const submitted = await service.call("/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/clean`, callback_url: callbackUrl }),
  });
  assert.equal(submitted.status, 204);
  await until("the callback is there", () => received.length + refused.length > 0, patience);
  assert.deepEqual(refused, []);
  assert.equal(received[0]?.result.status, "clean");
});
