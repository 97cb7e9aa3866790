import assert from "node:assert/strict";
import { before, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
let files: FileServer;
let service: TestService;
const clock = toldClock();
const gate = Promise.withResolvers<void>();
let flaky = 0;
/** A few kilobytes on the wire, 100 MiB in the hands of whoever decodes them. */
const bomb = zstdCompressSync(Buffer.alloc(100 * 1024 * 1024));
before(async () => {
  clamd = await testClamd();
  files = await fileServer({
    "/slow": async (_, response) => {
      await gate.promise;
      response.end("slow file");
    },
    "/flaky": (_, response) => {
      flaky += 1;
      response.writeHead(flaky <= 3 ? 503 : 200).end("flaky file");
    },
    "/bomb": (_, response) => response.writeHead(200, { "Content-Encoding": "zstd" }).end(bomb),
    "/down": (_, response) => response.writeHead(500).end(),
  });
  service = await testService({ clamd: `unix:${clamd.socketPath}`, allowHttpCallbacks: true }, {}, clock);
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const submit = (body: object): Promise<Response> =>
  service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
const poll = (traceId: string): Promise<Response> =>
  service.call(`/api/v1/scan/async/result?trace_id=${encodeURIComponent(traceId)}`);
async function resultOf(traceId: string): Promise<unknown> {
  let response = await poll(traceId);
  await until(`there is a result for ${traceId}`, async () => {
    response = await poll(traceId);
    return response.status === 200;
  });
  return response.json();
}

test("a job's log line tells its trace id, and where the file came from without the query", async () => {
  await submit({ download_url: `${files.origin}/clean?token=canary`, trace_id: "in the log" });
  await resultOf("in the log");
  const line = (): Record<string, unknown> | undefined =>
    service.lines.find(({ trace_id }) => trace_id === "in the log");
  await until("the line is there", () => line() !== undefined);
  assert.deepEqual([line()?.event, line()?.source, line()?.verdict], ["job", `${files.origin}/clean`, "clean"]);
  assert.doesNotMatch(JSON.stringify(service.lines), /canary/);
});

// spec: state-1, endpoint-1
test("without a callback_url: 201, an empty body, and a location that leads to the result", async () => {
  const response = await submit({ download_url: `${files.origin}/clean`, trace_id: "first & önly" });
  assert.equal(response.status, 201);
  assert.equal(response.headers.get("content-length"), "0");
  assert.equal(await response.text(), "");
  const location = response.headers.get("location") ?? "";
  assert.equal(location, "/api/v1/scan/async/result?trace_id=first%20%26%20%C3%B6nly");
  await until("the location answers", async () => (await service.call(location)).status === 200);
  assert.deepEqual(await (await service.call(location)).json(), { status: "clean", size: 10 });
});

// spec: state-3
test("an infected file and one that is not there have their findings", async () => {
  await submit({ download_url: `${files.origin}/eicar`, trace_id: "infected" });
  assert.deepEqual(await resultOf("infected"), { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
  await submit({ download_url: `${files.origin}/missing`, trace_id: "missing" });
  assert.deepEqual(await resultOf("missing"), { status: "no", finding: "scanner:download-failed" });
});

// spec: state-4, error-1
test("answers 404 while the scan is unfinished, and the same for an unknown trace_id", async () => {
  await submit({ download_url: `${files.origin}/slow`, trace_id: "slow" });
  await until("the download has begun", () => files.asked.includes("/slow"));
  const unfinished = await poll("slow");
  const unknown = await poll("nobody submitted this");
  assert.deepEqual([unfinished.status, unknown.status], [404, 404]);
  const body = (await unfinished.json()) as Record<string, unknown>;
  assert.equal(body.code, "not_found");
  assert.deepEqual({ ...body, request_id: "" }, { ...((await unknown.json()) as object), request_id: "" });
  gate.resolve();
  assert.deepEqual(await resultOf("slow"), { status: "clean", size: 9 });
});

// spec: resource-3, resource-11, state-2, event-9
test("with a callback_url: 204, and the result is posted with every field of the spec", async () => {
  await using receiver = await callbackReceiver(answering(204));
  const custom = 'emoji 💾, quotes ", NUL \u0000, half a pair \ud83d';
  const response = await submit({
    download_url: `${files.origin}/eicar?page=1`,
    callback_url: `${receiver.origin}/scanned?x=1`,
    callback_headers: { "X-Tenant": "7" },
    trace_id: "called",
    custom_data: custom,
  });
  assert.equal(response.status, 204);
  await until("the callback is there", () => receiver.requests.length > 0);
  const [callback] = receiver.requests;
  const payload = JSON.parse(callback?.body.toString() ?? "");
  assert.match(payload.download_time, /^\d+\.\d{3}$/);
  assert.match(payload.scan_time, /^\d+\.\d{3}$/);
  assert.deepEqual(
    { ...payload, download_time: "", scan_time: "" },
    {
      status: "infected",
      finding: "Eicar-Test-Signature",
      size: 68,
      download_time: "",
      scan_time: "",
      download_url: `${files.origin}/eicar?page=1`,
      trace_id: "called",
      custom_data: custom,
    },
  );
  assert.deepEqual([callback?.values("x-tenant"), callback?.values("content-type")], [["7"], ["application/json"]]);
  assert.deepEqual(await resultOf("called"), { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
  assert.equal(receiver.requests.length, 1);
});

test("a download that announces more than the limit is too big, and callback and poll tell the announced length", async () => {
  await using receiver = await callbackReceiver(answering(204));
  await using small = await testService({
    clamd: `unix:${clamd.socketPath}`,
    allowHttpCallbacks: true,
    jobMaxMib: 1,
  });
  const announced = 5 * 1024 * 1024;
  await using big = await fileServer({
    "/big": (_, response) => response.writeHead(200, { "Content-Length": announced }).write("x"),
  });
  const body = { download_url: `${big.origin}/big`, callback_url: `${receiver.origin}/scanned`, trace_id: "big" };
  await small.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  await until("the callback is there", () => receiver.requests.length > 0);
  const { status, finding, size } = JSON.parse(receiver.requests[0]?.body.toString() ?? "");
  const expected = { status: "no", finding: "scanner:too-big", size: announced };
  assert.deepEqual({ status, finding, size }, expected);
  const polled = await small.call("/api/v1/scan/async/result?trace_id=big");
  assert.deepEqual(await polled.json(), expected);
});

// spec: resource-2
test("a download that fails in a way that may pass is tried again after 5, 10 and 15 seconds", async () => {
  await submit({ download_url: `${files.origin}/flaky`, trace_id: "flaky" });
  for (const [tries, seconds] of [
    [1, 5],
    [2, 10],
    [3, 15],
  ] as const) {
    await until(`try ${tries} has failed`, () =>
      service.lines.some(
        (line) => line.event === "job" && line.after_seconds === seconds && line.failure === "HTTP_503",
      ),
    );
    assert.equal(flaky, tries);
    clock.advance(seconds + 1);
  }
  assert.deepEqual(await resultOf("flaky"), { status: "clean", size: 10 });
});

test("a download that goes on failing is `no` after the third retry", async () => {
  await submit({ download_url: `${files.origin}/down`, trace_id: "down" });
  await until("it has a result", async () => {
    clock.advance(20);
    return (await poll("down")).status === 200;
  });
  assert.deepEqual(await resultOf("down"), { status: "no", finding: "scanner:download-failed" });
  assert.equal(files.asked.filter((path) => path === "/down").length, 4);
});

test("a download whose encoding makes it more than 200 times larger is `no` at once, and not tried again", async () => {
  await submit({ download_url: `${files.origin}/bomb`, trace_id: "bomb" });
  assert.deepEqual(await resultOf("bomb"), { status: "no", finding: "scanner:limits-exceeded" });
  assert.equal(files.asked.filter((path) => path === "/bomb").length, 1);
});

test("a trace_id that is submitted again has the newest submission's result", async () => {
  await submit({ download_url: `${files.origin}/clean`, trace_id: "again" });
  assert.deepEqual(await resultOf("again"), { status: "clean", size: 10 });
  await submit({ download_url: `${files.origin}/eicar`, trace_id: "again" });
  assert.deepEqual(await resultOf("again"), { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
});

// spec: service-5, state-5, limit-2
test("a result is kept for 24 hours, then it is 404", async () => {
  await submit({ download_url: `${files.origin}/clean`, trace_id: "kept" });
  await resultOf("kept");
  clock.advance(24 * 3600 - 60);
  assert.equal((await poll("kept")).status, 200);
  clock.advance(120);
  assert.equal((await poll("kept")).status, 404);
});

const url = "https://files.example.com/x";
const bad: [what: string, body: object, code: string][] = [
  // spec: resource-4
  ["neither callback_url nor trace_id", {}, "trace_id_required"],
  ["an empty trace_id", { trace_id: "" }, "invalid_trace_id"],
  ["a trace_id over 256 characters", { trace_id: "x".repeat(257) }, "invalid_trace_id"],
  ["a trace_id with a control character", { trace_id: "a\u0007b" }, "invalid_trace_id"],
  ["a trace_id that is a number", { trace_id: 5 }, "invalid_trace_id"],
  // spec: limit-1
  ["custom_data over 16,384 bytes", { trace_id: "t", custom_data: "é".repeat(8193) }, "custom_data_too_large"],
  ["custom_data over 16,384 characters", { trace_id: "t", custom_data: "x".repeat(16_385) }, "custom_data_too_large"],
  ["custom_data that is an object", { trace_id: "t", custom_data: {} }, "invalid_request"],
  ["an empty callback_url", { callback_url: "" }, "invalid_callback_url"],
  ["a callback_url that is a number", { callback_url: 5 }, "invalid_callback_url"],
  ["callback_headers that are a list", { trace_id: "t", callback_headers: ["a"] }, "invalid_header"],
  ["a callback header that is a number", { trace_id: "t", callback_headers: { A: 1 } }, "invalid_header"],
  ["a callback_url that is no URL", { callback_url: "nowhere" }, "invalid_callback_url"],
  ["a callback_url with letters outside RFC 3986", { callback_url: "https://example.com/ö" }, "invalid_callback_url"],
  ["a callback_url to a private address", { callback_url: "https://10.0.0.1/x" }, "blocked_destination"],
  [
    "a callback header that is hop-by-hop",
    { trace_id: "t", callback_headers: { Connection: "upgrade" } },
    "invalid_header",
  ],
  ["no download_url", { download_url: undefined, trace_id: "t" }, "invalid_download_url"],
];
for (const [what, fields, code] of bad) {
  test(`${what} gets 400 ${code}`, async () => {
    const response = await submit({ download_url: url, ...fields });
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [400, code]);
  });
}

test("a callback_url of plain http is refused unless the operator allows it", async () => {
  await using strict = await testService({ clamd: `unix:${clamd.socketPath}` });
  const response = await strict.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: url, callback_url: "http://app.example.com/x" }),
  });
  assert.deepEqual(
    [response.status, ((await response.json()) as { code: string }).code],
    [400, "invalid_callback_url"],
  );
});

// spec: resource-5
test("custom_data of exactly 16,384 bytes of 4-byte characters is accepted", async () => {
  const response = await submit({
    download_url: `${files.origin}/clean`,
    trace_id: "full",
    custom_data: "💾".repeat(4096),
  });
  assert.equal(response.status, 201);
});

// spec: endpoint-3
test("a poll without a trace_id, or with two, gets 400", async () => {
  for (const query of ["", "?trace_id=", "?trace_id=a&trace_id=b", "?trace_id=%00"]) {
    const response = await service.call(`/api/v1/scan/async/result${query}`);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [400, "invalid_trace_id"]);
  }
});

test("a job that takes longer than its time is `no`, and holds its slot no longer", async () => {
  await using hurried = await testService({ clamd: `unix:${clamd.socketPath}`, jobTimeoutSeconds: 1 });
  await using drip = await fileServer({ "/drip": (_, response) => void response.writeHead(200).write("x") });
  await hurried.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${drip.origin}/drip`, trace_id: "drip" }),
  });
  const result = (): Promise<Response> => hurried.call("/api/v1/scan/async/result?trace_id=drip");
  await until("there is a result", async () => (await result()).status === 200);
  const { status, finding } = (await (await result()).json()) as { status: string; finding: string };
  assert.deepEqual([status, finding], ["no", "scanner:timeout"]);
});

test("while the engine is down a job waits, and runs when it is back", async () => {
  await using own = await testClamd();
  await using waiting = await testService({ clamd: `unix:${own.socketPath}` }, {}, clock);
  await own.kill();
  await waiting.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id: "patient" }),
  });
  await until("the engine was missed", () =>
    waiting.lines.some((line) => /cannot reach clamd/.test(String(line.error))),
  );
  await own.start();
  await until("it is scanned", async () => {
    clock.advance(6);
    return (await waiting.call("/api/v1/scan/async/result?trace_id=patient")).status === 200;
  });
  const result = (await (await waiting.call("/api/v1/scan/async/result?trace_id=patient")).json()) as object;
  assert.deepEqual(result, { status: "infected", finding: "Eicar-Test-Signature", size: 68 });
});
