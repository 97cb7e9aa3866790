import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { before, test } from "node:test";
import { parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { encrypted, zip } from "../fixtures/zip-writer.ts";
import { bucketsIn, jsonLines } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

/** What the spec says in so many words, written out here and not taken from the code. */
const folder = temporaryFolder();
const dataDir = join(folder.path, "data");
const buckets = bucketsIn(join(folder.path, "buckets"));
const clock = toldClock();
let clamd: TestClamd;
let files: FileServer;
let service: TestService;
/** Its one member needs a password. */
const lockedZip: Buffer = Buffer.from(zip([encrypted("letter.txt", Buffer.from("dear reader"), "secret")]));
const seen: { method: string | undefined; path: string; headers: IncomingHttpHeaders }[] = [];

before(async () => {
  clamd = await testClamd();
  files = await fileServer({
    "/seen": (request, response) => {
      seen.push({ method: request.method, path: request.url ?? "", headers: request.headers });
      response.end("seen file");
    },
    "/locked.zip": (_, response) => response.end(lockedZip),
  });
  const subscriptions = parseSubscriptions('[{"protocol":"file","endpoint":"findings.jsonl"}]');
  service = await testService(
    {
      clamd: `unix:${clamd.socketPath}`,
      allowHttpCallbacks: true,
      reportEventBus: true,
      dataDir,
      bucketsDir: buckets.path,
      subscriptions: "value" in subscriptions ? subscriptions.value : [],
    },
    {},
    clock,
  );
});
atTheEnd(async () => {
  await service[Symbol.asyncDispose]();
  await files[Symbol.asyncDispose]();
  await clamd[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** On a machine that has other things to do. */
const patient = { limitMs: 60_000 };

const endpoints: readonly [method: "GET" | "POST", path: string][] = [
  ["POST", "/api/v1/scan/async/download"],
  ["POST", "/api/v1/scan/async/objstore"],
  ["GET", "/api/v1/scan/async/result"],
  ["GET", "/api/v1/test"],
  ["POST", "/api/v1/scan/sync/download"],
  ["POST", "/api/v1/scan/sync/binary"],
  ["POST", "/api/v1/scan/sync/form"],
  ["POST", "/api/v1/scan/sync/objstore"],
];
for (const [method, path] of endpoints) {
  // spec: endpoint-1, endpoint-2, endpoint-3, endpoint-4, endpoint-5, endpoint-6, endpoint-7
  // spec: endpoint-8, auth-1, version-1
  test(`${method} ${path} is there with its method and its prefix, and needs the key`, async () => {
    const asked = await service.call(path, { method });
    assert.ok(![401, 404, 405].includes(asked.status), `${asked.status} with the key`);
    for (const Authorization of ["", "Bearer wrong-key"]) {
      const refused = await fetch(`${service.url}${path}`, { method, headers: { Authorization } });
      assert.equal(refused.status, 401, `with ${JSON.stringify(Authorization)}`);
      assert.equal(((await refused.json()) as { code: string }).code, "invalid_api_key");
    }
    assert.equal((await service.call(path, { method: method === "GET" ? "POST" : "GET" })).status, 405);
    for (const other of [path.replace("/api/v1", ""), path.replace("/api/v1", "/api"), path.replace("v1", "v2")]) {
      assert.equal((await service.call(other, { method })).status, 404, other);
    }
  });
}

const post = (path: string, body: object): Promise<Response> =>
  service.call(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

async function polled(traceId: string): Promise<unknown> {
  const poll = (): Promise<Response> => service.call(`/api/v1/scan/async/result?trace_id=${traceId}`);
  await until(`${traceId} has a result`, async () => (await poll()).status === 200, patient);
  return (await poll()).json();
}

for (const kind of ["sync", "async"]) {
  // spec: service-1, resource-2
  test(`${kind}: a file is fetched by GET, with the download_headers of the request`, async () => {
    const before = seen.length;
    const download_headers = { Authorization: "Bearer of-the-file-server", "X-Tenant": "7" };
    const download_url = `${files.origin}/seen?by=${kind}`;
    await post(`/api/v1/scan/${kind}/download`, { download_url, download_headers, trace_id: `seen-${kind}` });
    if (kind === "async") await polled("seen-async");
    const [request, ...more] = seen.slice(before);
    assert.deepEqual(more, []);
    assert.deepEqual(
      [request?.method, request?.path, request?.headers.authorization, request?.headers["x-tenant"]],
      ["GET", `/seen?by=${kind}`, "Bearer of-the-file-server", "7"],
    );
  });
}

/** Each status, with a file that gets it, and the whole answer: no field less and none more. */
const answers: readonly [path: string, result: Record<string, unknown>][] = [
  ["/clean", { status: "clean", size: 10 }],
  ["/eicar", { status: "infected", finding: "Eicar-Test-Signature", size: 68 }],
  ["/missing", { status: "no", finding: "scanner:download-failed" }],
  ["/locked.zip", { status: "no", finding: "Heuristics.Encrypted.Zip", size: lockedZip.length }],
];
for (const [path, result] of answers) {
  // spec: service-8, resource-1, resource-7, resource-8, state-3, endpoint-3, event-9, error-2
  test(`${path} is ${result.status} in the answer, in the poll, in the callback and on the event bus, with ${result.finding ?? "no finding"}`, async () => {
    const download_url = `${files.origin}${path}`;
    const answer = await post("/api/v1/scan/sync/download", { download_url });
    assert.deepEqual(await answer.json(), result);

    await using receiver = await callbackReceiver(answering(204));
    const trace_id = `all-${path.slice(1)}`;
    const callback_url = `${receiver.origin}/scanned`;
    await post("/api/v1/scan/async/download", { download_url, callback_url, trace_id, custom_data: "mine" });
    assert.deepEqual(await polled(trace_id), result);

    await until("the callback is there", () => receiver.requests.length > 0, patient);
    const { download_time, scan_time, ...payload } = JSON.parse(receiver.requests[0]?.body.toString() ?? "");
    for (const time of [download_time, scan_time]) assert.match(time, /^\d+\.\d{3}$/);
    const { size = 0, ...verdict } = result;
    assert.deepEqual(payload, { ...verdict, size, download_url, trace_id, custom_data: "mine" });
    assert.equal(receiver.requests[0]?.requestLine, "POST /scanned HTTP/1.1");

    const event = await eventOf(trace_id);
    assert.deepEqual([event["detail-type"], event.source], ["Download Scan Result", "com.scanner"]);
    const { download_failed_error, ...detail } = event.detail;
    assert.deepEqual(detail, { download_url, callback_url, ...verdict, trace_id, custom_data: "mine" });
    assert.equal(download_failed_error !== undefined, result.finding === "scanner:download-failed");
  });
}

// spec: resource-14
test("a failed download is told with its error object in full", async () => {
  await post("/api/v1/scan/async/download", { download_url: `${files.origin}/missing`, trace_id: "failed" });
  const { detail } = await eventOf("failed");
  assert.ok("download_url" in detail);
  const { download_failed_error: error, callback_failed_error } = detail;
  assert.equal(callback_failed_error, undefined);
  assertError(error, { code: "HTTP_404", attempts: 1, status_code: 404 });
});

// spec: resource-14
test("a failed callback is told with its error object in full, after all tries", async () => {
  await using receiver = await callbackReceiver(answering(500));
  const body = {
    download_url: `${files.origin}/clean`,
    callback_url: `${receiver.origin}/never`,
    trace_id: "callback",
  };
  await post("/api/v1/scan/async/download", body);
  const job = (): unknown =>
    service.lines.find(({ event, trace_id }) => event === "callback" && trace_id === "callback")?.job_id;
  const runs = (): number => service.lines.filter((line) => line.event === "job" && line.job_id === job()).length;
  for (const invocations of [1, 2, 3, 4]) {
    await until(`invocation ${invocations} is over`, () => job() !== undefined && runs() === invocations, patient);
    clock.advance(60);
  }
  const failed = (): BusEvent | undefined => eventsOf("callback").find(({ detail }) => detail.status === "no");
  await until("the callback has failed for good", () => failed() !== undefined, patient);
  const { download_failed_error, callback_failed_error, finding } = failed()?.detail ?? {};
  assert.deepEqual([finding, download_failed_error], ["scanner:callback-failed", undefined]);
  assertError(callback_failed_error, { code: "HTTP_500", attempts: 24, status_code: 500 });
});

// spec: resource-12, resource-13
test("a finding of the topic and its event have every field, and nothing else", async () => {
  buckets.put("uploads", "bad.txt", eicar());
  await post("/api/v1/scan/async/objstore", {
    bucket: "uploads",
    key: "bad.txt",
    trace_id: "object",
    custom_data: "c",
  });
  const finding = { bucket: "uploads", key: "bad.txt", size: 68, status: "infected", action: "tag" };
  const whole = { ...finding, finding: "Eicar-Test-Signature", trace_id: "object", custom_data: "c" };
  const found = (): Record<string, unknown> | undefined =>
    jsonLines<Record<string, unknown>>(join(dataDir, "findings.jsonl")).find(({ trace_id }) => trace_id === "object");
  await until("the finding is there", () => found() !== undefined, patient);
  // A line in a file tells besides when it was written.
  const { time, ...line } = found() ?? {};
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(line, whole);
  const event = await eventOf("object");
  assert.deepEqual([event["detail-type"], event.source], ["Scan Result", "com.scanner"]);
  assert.deepEqual(event.detail, whole);
  assert.deepEqual(await buckets.tagsOf("uploads", "bad.txt"), { scanner: "infected" });
});

interface BusEvent {
  "detail-type": string;
  source: string;
  detail: Record<string, unknown>;
}

function eventsOf(traceId: string): BusEvent[] {
  return jsonLines<BusEvent>(join(dataDir, "events.jsonl")).filter(({ detail }) => detail.trace_id === traceId);
}

async function eventOf(traceId: string): Promise<BusEvent> {
  await until(`there is an event of ${traceId}`, () => eventsOf(traceId).length > 0, patient);
  return eventsOf(traceId)[0] as BusEvent;
}

function assertError(error: unknown, expected: { code: string; attempts: number; status_code: number }): void {
  const { message, code, metadata, ...more } = error as Record<string, unknown>;
  assert.deepEqual(more, {});
  assert.ok(typeof message === "string" && message.length > 10, `message: ${message}`);
  assert.equal(code, expected.code);
  const { last_attempt_at, ...counts } = metadata as Record<string, unknown>;
  assert.deepEqual(counts, { attempts: expected.attempts, status_code: expected.status_code });
  assert.equal(new Date(String(last_attempt_at)).toISOString(), last_attempt_at);
}
