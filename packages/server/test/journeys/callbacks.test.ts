import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { createCallbackVerifier } from "@lazaret/client";
import type { DownloadScanResultEvent as BusEvent } from "@lazaret/contract";
import type { Settings } from "../../src/settings.ts";
import { jsonLines } from "../support/buckets.ts";
import { answering, callbackReceiver, inTurn, silent } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { onFleet } from "../support/fleet.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { type ToldClock, toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
let files: FileServer;
before(async () => {
  clamd = await testClamd();
  files = await fileServer();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());

const startAt = (clock: ToldClock, settings: Partial<Settings> = {}): Promise<TestService> =>
  testService({ clamd: `unix:${clamd.socketPath}`, allowHttpCallbacks: true, ...settings }, {}, clock);

async function submit(service: TestService, fields: object): Promise<void> {
  const response = await service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/clean`, ...fields }),
  });
  assert.equal(response.status, 204);
}

const jobLines = (service: TestService): Record<string, unknown>[] =>
  service.lines.filter((line) => line.event === "job");

/** Lets the job run to its end; answers the delays it was put back for. */
async function throughAllInvocations(service: TestService, clock: ToldClock): Promise<unknown[]> {
  for (const invocations of [1, 2, 3, 4]) {
    await until(`invocation ${invocations} is over`, () => jobLines(service).length === invocations);
    clock.advance(60);
  }
  return jobLines(service).map((line) => line.after_seconds);
}

/** The event of a result, once it is in the file of the bus. */
async function eventIn(dataDir: string, status: string): Promise<BusEvent> {
  const found = (): BusEvent | undefined =>
    jsonLines<BusEvent>(join(dataDir, "events.jsonl")).find(({ detail }) => detail.status === status);
  await until(`there is an event with status ${status}`, () => found() !== undefined);
  return found() as BusEvent;
}

// spec: state-7, state-9, limit-3, limit-4
test("a receiver that never answers 2xx gets exactly 24 POSTs, with 5, 10 and 15 s between the invocations, then a dead letter", async () => {
  const clock = toldClock();
  await using service = await startAt(clock);
  await using receiver = await callbackReceiver(answering(500));
  const before = files.asked.length;
  await submit(service, { callback_url: `${receiver.origin}/never` });
  assert.deepEqual(await throughAllInvocations(service, clock), [5, 10, 15, undefined]);
  assert.equal(receiver.requests.length, 24);
  assert.equal(clock.slept.length, 20);
  assert.deepEqual(
    receiver.requests.map((request) => Number(request.values("x-delivery-attempt")[0])),
    Array.from({ length: 24 }, (_, index) => index + 1),
  );
  const [id, ...others] = new Set(receiver.requests.map((request) => request.values("x-delivery-id").join()));
  assert.match(id ?? "", /^[\w-]{16,}$/);
  assert.deepEqual(others, []);
  assert.equal(jobLines(service)[3]?.settlement, "buried");
  assert.equal(files.asked.length - before, 1, "the file is downloaded once");
});

// spec: parameter-4, state-8, event-7, error-5
test("with ReportEventBus the end is a Download Scan Result event instead of a dead letter", async () => {
  using folder = temporaryFolder();
  const clock = toldClock();
  await using service = await startAt(clock, { reportEventBus: true, dataDir: folder.path });
  await using receiver = await callbackReceiver(answering(404));
  await submit(service, { callback_url: `${receiver.origin}/gone`, trace_id: "t-1", custom_data: "mine" });
  await throughAllInvocations(service, clock);
  const [scanned, failed] = [await eventIn(folder.path, "clean"), await eventIn(folder.path, "no")];
  assert.deepEqual(Object.keys(scanned).sort(), [
    "account",
    "detail",
    "detail-type",
    "id",
    "region",
    "resources",
    "source",
    "time",
    "version",
  ]);
  assert.deepEqual([scanned.source, scanned["detail-type"]], ["com.scanner", "Download Scan Result"]);
  assert.equal(scanned.detail.status, "clean");
  const { callback_failed_error, ...detail } = failed.detail;
  assert.deepEqual(detail, {
    download_url: `${files.origin}/clean`,
    callback_url: `${receiver.origin}/gone`,
    status: "no",
    finding: "scanner:callback-failed",
    trace_id: "t-1",
    custom_data: "mine",
  });
  assert.deepEqual([callback_failed_error?.code, callback_failed_error?.metadata.attempts], ["HTTP_404", 24]);
  assert.equal(jobLines(service)[3]?.settlement, "done");
});

test("a failed download is an event too, with its error", async () => {
  using folder = temporaryFolder();
  await using service = await startAt(toldClock(), { reportEventBus: true, dataDir: folder.path });
  await service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/missing`, trace_id: "gone" }),
  });
  await until("the job is done", () => jobLines(service).length === 1);
  const event = await eventIn(folder.path, "no");
  assert.deepEqual([event.detail.status, event.detail.finding], ["no", "scanner:download-failed"]);
  assert.deepEqual([event.detail.callback_url, event.detail.download_failed_error?.code], ["", "HTTP_404"]);
});

// spec: state-6, endpoint-9
test("a callback that is answered 2xx at the third try is delivered, and not posted again", async () => {
  const clock = toldClock();
  await using service = await startAt(clock);
  await using receiver = await callbackReceiver(inTurn(answering(503), answering(302), answering(201)));
  await submit(service, { callback_url: `${receiver.origin}/third` });
  await until("the job is done", () => jobLines(service)[0]?.settlement === "done");
  assert.equal(receiver.requests.length, 3);
});

// spec: parameter-5, auth-5
test("signed callbacks verify with the public key that the service shows, over the bytes that were sent", async () => {
  const clock = toldClock();
  await using service = await startAt(clock, { signCallbackInvocations: true });
  await using receiver = await callbackReceiver(inTurn(answering(500), answering(204)));
  const callbackUrl = `${receiver.origin}/signed?a=b`;
  await submit(service, {
    callback_url: callbackUrl,
    callback_headers: { "X-Signature": "deadbeef", "content-type": "text/plain" },
  });
  await until("it is delivered", () => receiver.requests.length === 2);
  for (const path of ["callback-key.pem", "callback-key.pkcs1.pem"]) {
    const response = await fetch(`${service.url}/.well-known/lazaret/${path}`);
    assert.equal(response.headers.get("content-type"), "application/x-pem-file");
    const pem = await response.text();
    const publicKey = createPublicKey(pem);
    const verifier = createCallbackVerifier({ publicKey: pem, callbackUrl, now: clock.now });
    for (const request of receiver.requests) {
      const { body, headers } = request;
      const { result } = await verifier.verifyRaw({ body, headers: Object.fromEntries(headers) });
      assert.equal(result.status, "clean", "the client's verifier takes it, too");
      const [timestamp = ""] = request.values("x-timestamp");
      const signatures = request.values("x-signature");
      assert.equal(signatures.length, 1);
      const signed = Buffer.concat([Buffer.from(`${timestamp}.${callbackUrl}.`), request.body]);
      assert.ok(verify("sha256", signed, publicKey, Buffer.from(signatures[0] ?? "", "hex")));
      assert.deepEqual(request.values("content-type"), ["application/json"]);
    }
  }
});

test("the verifier of docs/callbacks.md takes a real callback, and refuses a forged, an old and a changed one", async () => {
  const page = readFileSync(new URL("../../../../docs/callbacks.md", import.meta.url), "utf8");
  const [, source = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const { isFromLazaret } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  await using service = await startAt({ ...toldClock(), now: Date.now }, { signCallbackInvocations: true });
  await using receiver = await callbackReceiver(answering(204));
  const callbackUrl = `${receiver.origin}/verified`;
  await submit(service, { callback_url: callbackUrl });
  await until("it is delivered", () => receiver.requests.length === 1);
  const [request] = receiver.requests;
  const genuine = {
    timestamp: request?.values("x-timestamp")[0],
    signature: request?.values("x-signature")[0],
    callbackUrl,
    body: request?.body,
    publicKeyPem: await (await fetch(`${service.url}/.well-known/lazaret/callback-key.pem`)).text(),
  };
  assert.equal(isFromLazaret(genuine), true);
  assert.equal(isFromLazaret({ ...genuine, signature: "00".repeat(384) }), false);
  assert.equal(isFromLazaret({ ...genuine, body: Buffer.from('{"status":"clean"}') }), false);
  assert.equal(isFromLazaret({ ...genuine, timestamp: String(Date.now() - 600_000) }), false);
});

test("the public key is not there when callbacks are not signed, and neither are the headers", async () => {
  await using service = await startAt(toldClock());
  await using receiver = await callbackReceiver(answering(204));
  assert.equal((await fetch(`${service.url}/.well-known/lazaret/callback-key.pem`)).status, 404);
  await submit(service, { callback_url: `${receiver.origin}/plain` });
  await until("it is delivered", () => receiver.requests.length === 1);
  assert.deepEqual(receiver.requests[0]?.values("x-signature"), []);
});

test("a dead receiver does not hold up the callbacks of others, nor the scans", {
  skip: onFleet && "the limit is one of each process",
}, async () => {
  await using service = await startAt(toldClock(), { workers: 2 });
  await using dead = await callbackReceiver(silent);
  await using alive = await callbackReceiver(answering(204));
  for (let count = 0; count < 50; count += 1) await submit(service, { callback_url: `${dead.origin}/${count}` });
  for (let count = 0; count < 10; count += 1) await submit(service, { callback_url: `${alive.origin}/${count}` });
  await until("the others are delivered", () => alive.requests.length === 10);
  // On a busy machine the first have been given up by now, and others took their places.
  const givenUp = service.lines.filter(({ event, url }) => event === "callback" && `${url}`.startsWith(dead.origin));
  assert.ok(dead.requests.length - givenUp.length <= 8, "at most 8 at once to one receiver");
});

test("canaries in headers, URLs and keys are found in no file of the data folder and in no log line", async () => {
  using folder = temporaryFolder();
  const clock = toldClock();
  await using service = await startAt(clock, { dataDir: folder.path, signCallbackInvocations: true });
  await using receiver = await callbackReceiver(answering(500));
  await submit(service, {
    download_url: `${files.origin}/clean?canary-in-url`,
    download_headers: { Authorization: "Bearer canary-in-download-header" },
    callback_url: `${receiver.origin}/?canary-in-callback-url`,
    callback_headers: { "X-Secret": "canary-in-callback-header" },
    custom_data: "canary-in-custom-data",
  });
  const found = (): string[] =>
    readdirSync(folder.path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .filter((entry) => /canary/.test(readFileSync(join(entry.parentPath, entry.name), "latin1")))
      .map((entry) => entry.name);
  for (const invocations of [1, 2, 3, 4]) {
    await until(`invocation ${invocations} is over`, () => jobLines(service).length === invocations);
    assert.deepEqual(found(), []);
    clock.advance(60);
  }
  const log = JSON.stringify(service.lines);
  assert.doesNotMatch(log, /canary/);
  assert.ok(!log.includes(testKey));
});

for (const signed of [true, false]) {
  test(`callback_headers are sent as they are, all but those of the service, with signing ${signed ? "on" : "off"}`, async () => {
    await using service = await startAt(toldClock(), { signCallbackInvocations: signed });
    await using receiver = await callbackReceiver(answering(204));
    const sent = {
      Authorization: "Bearer receiver",
      "Content-Language": "de",
      "Content-Disposition": "inline",
      "Content-MD5": "Q2hlY2sgSW50ZWdyaXR5IQ==",
      Range: "bytes=0-1",
      "If-Range": "tag",
      "Accept-Encoding": "br",
      "User-Agent": "acme/1",
    };
    const ours = ["Content-Type", "Content-Length", "Content-Encoding", "X-Signature", "X-Timestamp", "X-Delivery-Id"];
    await submit(service, {
      callback_url: `${receiver.origin}/headers`,
      callback_headers: { ...sent, ...Object.fromEntries(ours.map((name) => [name, "1"])) },
    });
    await until("the callback is there", () => receiver.requests.length > 0);
    const [callback] = receiver.requests;
    for (const [name, value] of Object.entries(sent)) assert.deepEqual(callback?.values(name.toLowerCase()), [value]);
    assert.deepEqual(
      ["content-type", "content-length", "content-encoding"].map((name) => callback?.values(name)),
      [["application/json"], [String(callback?.body.length)], []],
    );
    const count = signed ? 1 : 0;
    for (const name of ["x-signature", "x-timestamp"]) assert.equal(callback?.values(name).length, count, name);
    for (const name of ["x-signature", "x-timestamp", "x-delivery-id"]) {
      assert.ok(!callback?.values(name).includes("1"), `${name} is the client's`);
    }
  });
}
test("what is open to downloads is not open to callbacks: at the submission, and when a name turns out to lead there", async () => {
  await using receiver = await callbackReceiver(answering(204));
  await using service = await startAt(toldClock(), { allowCallbackNetworks: [] });
  const submission = (callbackUrl: string): Promise<Response> =>
    service.call("/api/v1/scan/async/download", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ download_url: `${files.origin}/clean`, callback_url: callbackUrl }),
    });
  const refused = await submission(receiver.origin);
  const { code, hint } = (await refused.json()) as { code: string; hint: string };
  assert.deepEqual([refused.status, code], [400, "blocked_destination"]);
  assert.match(hint, /LAZARET_ALLOW_CALLBACK_NETWORKS .* LAZARET_ALLOW_CALLBACK_HOSTS/);

  const named = receiver.origin.replace("127.0.0.1", "localhost");
  assert.equal((await submission(named)).status, 204);
  const posts = (): unknown[] => service.lines.filter(({ event }) => event === "callback").map(({ code }) => code);
  await until("it was tried", () => posts().length > 0);
  assert.deepEqual([posts()[0], receiver.connections], ["blocked_destination", 0]);
});

test("a host that is open to callbacks is called back", async () => {
  await using receiver = await callbackReceiver(answering(204));
  const { host } = new URL(receiver.origin);
  await using service = await startAt(toldClock(), { allowCallbackNetworks: [], allowCallbackHosts: [host] });
  await submit(service, { callback_url: receiver.origin });
  await until("it is called back", () => receiver.requests.length === 1);
});
