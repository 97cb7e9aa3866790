import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { startTraces } from "../../src/compose/traces.ts";
import { log } from "../../src/log.ts";
import { bucketsIn } from "../support/buckets.ts";
import { answering, type CallbackReceiver, callbackReceiver, inTurn } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { httpServer } from "../support/loopback-server.ts";
import { otelVariables } from "../support/otel-variables.ts";
import { type OtlpReceiver, otlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

const close = new AsyncDisposableStack();
let collector: OtlpReceiver;
let service: TestService;
let files: FileServer;
let receiver: CallbackReceiver;
/** What the file server was sent. */
const fetched: NodeJS.Dict<string | string[]>[] = [];

before(async () => {
  collector = close.use(await otlpReceiver());
  receiver = close.use(await callbackReceiver(inTurn(answering(503), answering(200))));
  files = close.use(
    await fileServer({
      "/file": ({ headers }, response) => {
        fetched.push(headers);
        response.end("a file");
      },
    }),
  );
  const buckets = bucketsIn(close.use(temporaryFolder()).path);
  buckets.put("uploads", "a.txt", "an object");
  using _ = otelVariables({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.origin}/v1/traces`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "10",
  });
  const settings = { ...(await anyEngine()), bucketsDir: buckets.path, allowHttpCallbacks: true };
  atTheEnd(() => close.disposeAsync());
  service = close.use(await testService(settings, {}, { sleep: async () => {} }));
});

const json = { "Content-Type": "application/json" };
let made = 0;

/** Calls with a trace of its own, and waits for the span of the request. */
async function traced(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Traced> {
  made += 1;
  const traceId = made.toString(16).padStart(32, "a");
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const answer = await service.call(path, {
    method: "POST",
    headers: { ...json, traceparent, ...headers },
    body: JSON.stringify(body),
  });
  const own = (): ReceivedSpan[] => collector.spans.filter((span) => span.traceId === traceId);
  await until("the request's span has come", () => own().some(({ kind }) => kind === 2));
  return { answer, traceId, own };
}

interface Traced {
  answer: Response;
  traceId: string;
  own(): ReceivedSpan[];
}

describe("spans", () => {
  test("of a scan whose client waits are below its request: a download, an object, an upload", async () => {
    const download = await traced("/api/v1/scan/sync/download", { download_url: `${files.origin}/file` });
    assert.deepEqual(
      download
        .own()
        .map(({ name }) => name)
        .toSorted(),
      ["GET", "POST /api/v1/scan/sync/download", "scan"],
    );
    const object = await traced("/api/v1/scan/sync/objstore", { bucket: "uploads", key: "a.txt" });
    const read = object.own().find(({ name }) => name === "read object");
    assert.deepEqual(read?.attributes, { "lazaret.source": "uploads/a.txt" });
    const upload = await service.scan("an upload");
    const uploads = (): ReceivedSpan[] => collector.spans.filter(({ name }) => name.endsWith("/sync/binary"));
    await until("the span of the upload has come", () => uploads().length === 1);
    const [request] = uploads();
    assert.equal(request?.attributes["lazaret.request.id"], upload.headers.get("x-request-id"));
    const below = collector.spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
    assert.deepEqual(
      below.map(({ name, attributes }) => [name, attributes["lazaret.verdict"], attributes["file.size"]]),
      [["scan", "clean", 9]],
    );
  });

  test("begin a trace where the request's traceparent is not as it must be, and health checks have none", async () => {
    const hostile = ["", "00-0-0-01", `00-${"0".repeat(32)}-00f067aa0ba902b7-01`, "x".repeat(8000)];
    const seen = collector.spans.length;
    for (const traceparent of hostile) {
      const { status } = await service.call("/api/v1/test", { headers: { traceparent, tracestate: "=\u00e9,," } });
      assert.equal(status, 204);
    }
    await service.call("/healthz");
    await service.call("/readyz");
    await traced("/api/v1/scan/sync/download", {});
    const requests = (): ReceivedSpan[] => collector.spans.slice(seen).filter(({ kind }) => kind === 2);
    await until("all of them have come", () => requests().length > hostile.length);
    const ofTest = requests().filter(({ name }) => name === "GET /api/v1/test");
    assert.deepEqual([ofTest.length, requests().length], [hostile.length, hostile.length + 1]);
    assert.ok(ofTest.every(({ parentSpanId, traceId }) => parentSpanId === "" && /^[0-9a-f]{32}$/.test(traceId)));
    assert.equal(new Set(ofTest.map(({ traceId }) => traceId)).size, hostile.length);
  });

  test("of a trace that its caller does not sample are not sent, and neither is a wrong key's secret", async () => {
    const unsampled = "b".repeat(32);
    const headers = { traceparent: `00-${unsampled}-00f067aa0ba902b7-00` };
    assert.equal((await service.call("/api/v1/test", { headers })).status, 204);
    const wrong = await traced("/api/v1/scan/sync/download", {}, { Authorization: "Bearer secret-that-is-wrong" });
    const [refused] = wrong.own();
    assert.deepEqual([refused?.attributes["error.type"], refused?.status], ["invalid_api_key", 0]);
    assert.deepEqual(
      collector.spans.filter(({ traceId }) => traceId === unsampled),
      [],
    );
    assert.doesNotMatch(Buffer.concat(collector.bodies).toString(), /secret-that-is-wrong/);
  });

  test("of a failed download and of each POST to a receiver say what happened; nobody is sent a traceparent unasked", async () => {
    const jobs = await Promise.all(
      ["/file", "/missing"].map((path) =>
        traced("/api/v1/scan/async/download", {
          download_url: `${files.origin}${path}?token=x`,
          download_headers: { traceparent: "the client's own" },
          callback_url: `${receiver.origin}/scanned`,
        }),
      ),
    );
    const done = ({ own }: Traced): boolean => own().some(({ name }) => name === "process jobs");
    await until("both jobs are done", () => jobs.every(done));
    const missing = jobs[1]?.own().find(({ name }) => name === "GET");
    const { "error.type": type, "http.response.status_code": status } = missing?.attributes ?? {};
    assert.deepEqual([type, status, missing?.status], ["HTTP_404", 404, 2]);
    assert.equal(jobs[1]?.own().find(({ name }) => name === "process jobs")?.status, 0, "a 404 is an outcome");
    const posts = jobs.flatMap(({ own }) => own()).filter(({ name }) => name === "POST");
    assert.deepEqual(
      posts
        .map(({ attributes, status: failed }) => [
          attributes["http.response.status_code"],
          attributes["http.request.resend_count"],
          attributes["error.type"],
          failed,
        ])
        .toSorted((a, b) => Number(b[0]) - Number(a[0]) || Number(b[1] ?? 0) - Number(a[1] ?? 0)),
      [
        [503, undefined, "HTTP_503", 2],
        [200, 1, undefined, 0],
        [200, undefined, undefined, 0],
      ],
    );
    assert.deepEqual(
      receiver.requests.flatMap((post) => post.values("traceparent")),
      [],
    );
    assert.deepEqual(
      fetched.map(({ traceparent }) => traceparent),
      [undefined, "the client's own"],
    );
  });
});

describe("a collector", () => {
  test("that cannot be spoken to is said in the log at the start, and nothing is loaded for it", async () => {
    using _ = otelVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" });
    const lines: Record<string, unknown>[] = [];
    const say = log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
    assert.equal(await startTraces({ role: "all", platform: "embedded" }, say), undefined);
    const [{ event, level, error, hint } = {}, ...more] = lines;
    assert.deepEqual([event, level, more], ["traces", "error", []]);
    assert.equal(error, "no traces are sent: the OTLP protocol grpc is not spoken here");
    assert.match(String(hint), /http\/protobuf/);
  });

  test("that refuses what it is sent is complained of once, and files are scanned all the same", async () => {
    let refused = 0;
    await using strict = await httpServer((request, response) => {
      refused += 1;
      request.resume().on("end", () => response.writeHead(400, "Not Like That").end("secret words of the collector"));
    });
    using _ = otelVariables({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${strict.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "1",
    });
    await using other = await testService({ ...(await anyEngine()), role: "api" });
    while (refused < 3) assert.equal((await other.scan("a clean file")).status, 200);
    await other.service.stop();
    const [start, ...complaints] = other.lines.filter(({ event }) => event === "traces");
    assert.deepEqual([start?.endpoint, start?.protocol], [`http://127.0.0.1:${strict.port}/`, "http/protobuf"]);
    assert.deepEqual(
      complaints.map(({ level, error }) => [level, error]),
      [["error", "spans could not be sent: 400 Not Like That"]],
    );
  });

  test("that never answers holds up neither scans nor the end", async () => {
    const asked = Promise.withResolvers<void>();
    await using silent = await httpServer(() => asked.resolve());
    using _ = otelVariables({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${silent.port}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: "600000",
      OTEL_BSP_EXPORT_TIMEOUT: "600000",
      OTEL_BSP_SCHEDULE_DELAY: "1",
      OTEL_BSP_MAX_QUEUE_SIZE: "2",
    });
    await using other = await testService({ ...(await anyEngine()), role: "api" });
    await other.scan("a clean file");
    await asked.promise;
    for (let scans = 0; scans < 3; scans += 1) assert.equal((await other.scan("a clean file")).status, 200);
    await other.service.stop();
    const complaints = other.lines.filter(({ event, level }) => event === "traces" && level === "error");
    assert.deepEqual(
      complaints.map(({ error }) => String(error).replace(/: .*/, "")),
      ["spans could not be sent"],
    );
  });
});
