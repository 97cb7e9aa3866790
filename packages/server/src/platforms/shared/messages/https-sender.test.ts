import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { signatureVectorKeys as keys } from "@lazaret/contract/signature-vectors";
import {
  answering,
  type CallbackAnswer,
  callbackReceiver,
  silent,
} from "../../../../test/support/callback-receiver.ts";
import "../../../../test/support/leftovers.ts";
import { selfSigned } from "../../../../test/support/self-signed.ts";
import { until } from "../../../../test/support/until.ts";
import { callbackSigner } from "../../../deliver/signature.ts";
import { guardedConnector } from "../../../net/guarded-connector.ts";
import { type HttpsSenderOptions, httpsSender } from "./https-sender.ts";
import type { Posted, Sender } from "./sender.ts";

const guard = { mayDial: () => true };
const never = new AbortController().signal;

function posted(id: string, failures = 0): Posted {
  return { message: { id, receiver: "r", body: JSON.stringify({ key: `${id} 👾 \ud83d` }) }, failures };
}

function senderTo(endpoint: string, options: Partial<HttpsSenderOptions> & { ca?: string } = {}) {
  const { ca, ...rest } = options;
  const sender: Sender = httpsSender({
    endpoint,
    version: "1.2.3",
    connector: (signal) => guardedConnector({ guard, ...(ca !== undefined && { ca }) }, signal),
    now: () => 1_767_225_600_000,
    ...rest,
  });
  return { ...sender, [Symbol.asyncDispose]: sender.close };
}

test("the body is the message, and headers say which and of what topic", async () => {
  await using receiver = await callbackReceiver(answering(204));
  await using sender = senderTo(`${receiver.origin}/findings?token=t`, { topicName: "lazaret-findings" });
  assert.deepEqual(await sender.send(posted("m-1"), never), { kind: "sent", statusCode: 204 });
  const [request] = receiver.requests;
  assert.equal(request?.requestLine, "POST /findings?token=t HTTP/1.1");
  assert.equal(request?.body.toString(), String.raw`{"key":"m-1 👾 \ud83d"}`);
  const names = [
    "content-type",
    "x-message-id",
    "x-topic",
    "user-agent",
    "x-signature",
    "x-timestamp",
    "authorization",
  ];
  assert.deepEqual(
    names.map((name) => request?.values(name)),
    [["application/json"], ["m-1"], ["lazaret-findings"], ["lazaret/1.2.3"], [], [], []],
  );
});

test("events have no topic, and the id is the same in all tries", async () => {
  await using receiver = await callbackReceiver(answering(500));
  await using sender = senderTo(receiver.origin);
  await sender.send(posted("e-1"), never);
  await sender.send(posted("e-1", 1), never);
  assert.deepEqual(
    receiver.requests.map((request) => [request.values("x-message-id"), request.values("x-topic")]),
    [
      [["e-1"], []],
      [["e-1"], []],
    ],
  );
});

test("a signature is over timestamp, endpoint as configured, and body", async () => {
  await using receiver = await callbackReceiver(answering(200));
  const endpoint = `${receiver.origin}/a/../b?c=%7e`;
  await using sender = senderTo(endpoint, { sign: callbackSigner(createPrivateKey(keys.testOnlyPrivatePem)) });
  await sender.send(posted("m-1"), never);
  const [request] = receiver.requests;
  const [timestamp = ""] = request?.values("x-timestamp") ?? [];
  const [signature = ""] = request?.values("x-signature") ?? [];
  assert.equal(timestamp, "1767225600000");
  const signed = Buffer.concat([Buffer.from(`${timestamp}.${endpoint}.`), request?.body ?? Buffer.alloc(0)]);
  assert.ok(verify("sha256", signed, createPublicKey(keys.publicPemX509), Buffer.from(signature, "hex")));
});

test("credentials in the endpoint become a header", async () => {
  await using receiver = await callbackReceiver(answering(200));
  await using sender = senderTo(receiver.origin.replace("//", "//scan:p%40ss@"));
  await sender.send(posted("m-1"), never);
  const expected = `Basic ${Buffer.from("scan:p@ss").toString("base64")}`;
  assert.deepEqual(receiver.requests[0]?.values("authorization"), [expected]);
});

for (const status of [200, 202, 299]) {
  test(`${status} is success`, async () => {
    await using receiver = await callbackReceiver(answering(status, {}, "thanks"));
    await using sender = senderTo(receiver.origin);
    assert.deepEqual(await sender.send(posted("m-1"), never), { kind: "sent", statusCode: status });
  });
}

for (const status of [302, 400, 410, 503]) {
  test(`${status} is a failure, and nothing is followed`, async () => {
    await using other = await callbackReceiver(answering(200));
    await using receiver = await callbackReceiver(answering(status, { location: other.origin }));
    await using sender = senderTo(receiver.origin);
    const outcome = { kind: "failed", code: `HTTP_${status}`, statusCode: status };
    assert.deepEqual(await sender.send(posted("m-1"), never), outcome);
    assert.equal(other.connections, 0);
  });
}

test("a receiver that does not answer fails when the time is up", async () => {
  await using receiver = await callbackReceiver(silent);
  await using sender = senderTo(receiver.origin, { timeoutMs: 50 });
  assert.deepEqual(await sender.send(posted("m-1"), never), { kind: "failed", code: "ETIMEDOUT" });
});

test("a receiver that hangs up fails", async () => {
  await using receiver = await callbackReceiver((socket) => socket.destroy());
  await using sender = senderTo(receiver.origin);
  assert.deepEqual(await sender.send(posted("m-1"), never), { kind: "failed", code: "ECONNRESET" });
});

test("of an endless answer a little is read, then the connection is dropped", async () => {
  const endless: CallbackAnswer = (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    const more = (): void => {
      while (!socket.destroyed && socket.write(`1000\r\n${"x".repeat(0x1000)}\r\n`));
    };
    socket.on("drain", more);
    more();
  };
  await using receiver = await callbackReceiver(endless);
  await using sender = senderTo(receiver.origin);
  assert.equal((await sender.send(posted("m-1"), never)).kind, "sent");
  await until("the connection is dropped", () => receiver.openConnections === 0);
});

test("TLS is checked against the usual authorities", async () => {
  const identity = selfSigned("IP:127.0.0.1");
  await using receiver = await callbackReceiver(answering(200), { identity });
  await using trusting = senderTo(receiver.origin, { ca: identity.cert });
  await using usual = senderTo(receiver.origin);
  assert.equal((await trusting.send(posted("m-1"), never)).kind, "sent");
  const outcome = await usual.send(posted("m-2"), never);
  assert.equal(outcome.kind === "failed" && outcome.code, "DEPTH_ZERO_SELF_SIGNED_CERT");
  assert.equal(receiver.requests.length, 1);
});

test("proxies of the environment are not used", async () => {
  await using proxy = await callbackReceiver(answering(200));
  await using receiver = await callbackReceiver(answering(200));
  const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) process.env[name] = name.startsWith("NODE") ? "1" : proxy.origin;
  try {
    await using sender = senderTo(receiver.origin);
    assert.equal((await sender.send(posted("m-1"), never)).kind, "sent");
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
  assert.deepEqual([proxy.connections, receiver.requests.length], [0, 1]);
});

test("a retry makes a connection of its own", async () => {
  await using receiver = await callbackReceiver(answering(200));
  await using sender = senderTo(receiver.origin);
  for (const id of ["1", "2", "3"]) await sender.send(posted(id), never);
  const { connections } = receiver;
  await sender.send(posted("4", 1), never);
  assert.equal(receiver.connections, connections + 1);
});

test("what is under way fails when it is given up or the sender is closed", async () => {
  await using receiver = await callbackReceiver(silent);
  await using sender = senderTo(receiver.origin);
  const giveUp = new AbortController();
  const first = sender.send(posted("1"), giveUp.signal);
  const second = sender.send(posted("2"), never);
  await until("both are asked", () => receiver.requests.length === 2);
  giveUp.abort(new Error("enough"));
  assert.equal((await first).kind, "failed");
  await sender.close();
  assert.equal((await second).kind, "failed");
});
