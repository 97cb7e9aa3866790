import assert from "node:assert/strict";
import { test } from "node:test";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { otlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const caller = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const content = "a clean file whose content is nobody's business";

/** `lazaret serve` as an operator runs it, with OpenTelemetry's variables. */
async function serving(cwd: string, env: Record<string, string>): Promise<CliRun & { url: string }> {
  const run = runCli(["serve"], {
    cwd,
    env: {
      ...(await anyEngineInEnvironment()),
      LAZARET_API_KEYS: "key-of-the-traces-test",
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: "0",
      LAZARET_DRAIN_SECONDS: "0",
      LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
      LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
      LAZARET_ALLOW_HTTP_CALLBACKS: "true",
      ...env,
    },
  });
  const [, port] = await run.says(/"event":"listening".*"port":(\d+)/);
  return Object.assign(run, { url: `http://127.0.0.1:${port}` });
}

test("request, queue, download, scan and callback are one trace, over processes, kill -9 and SIGTERM", async () => {
  using folder = temporaryFolder();
  await using collector = await otlpReceiver();
  await using receiver = await callbackReceiver(answering(200));
  const asked: Record<string, NodeJS.Dict<string | string[]>> = {};
  await using stranger = await fileServer({
    "/file": ({ headers }, response) => {
      asked.stranger = headers;
      response.end(content);
    },
  });
  await using files = await fileServer({
    "/moved": ({ headers }, response) => {
      asked.files = headers;
      response.writeHead(302, { location: `${stranger.origin}/file?token=secret-of-the-redirect` }).end();
    },
  });
  const env = {
    LAZARET_TRACE_DOWNLOADS: files.origin,
    LAZARET_TRACE_CALLBACKS: receiver.origin,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    OTEL_EXPORTER_OTLP_HEADERS: "x-collector-key=secret-of-the-collector",
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
  };

  const api = await serving(folder.path, {
    ...env,
    LAZARET_ROLE: "api",
    OTEL_SERVICE_NAME: "front",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "20",
  });
  const submitted = await fetch(`${api.url}/api/v1/scan/async/download?unasked=secret-of-the-query`, {
    method: "POST",
    headers: {
      Authorization: "Bearer key-of-the-traces-test",
      "Content-Type": "application/json",
      traceparent: `00-${caller.traceId}-${caller.spanId}-01`,
      tracestate: "vendor=opaque",
    },
    body: JSON.stringify({
      download_url: `${files.origin}/moved?signature=secret-of-the-link`,
      download_headers: { Authorization: "secret-of-the-download" },
      callback_url: `${receiver.origin}/scanned?token=secret-of-the-callback`,
      callback_headers: { "X-Api-Key": "secret-of-the-receiver" },
      custom_data: "secret-of-the-client",
      trace_id: "order-4711",
    }),
  });
  assert.equal(submitted.status, 204);
  await until("the request's spans have come", () => collector.spans.length >= 2);
  await api.stop("SIGKILL");

  // Sends nothing before it ends.
  await using worker = await serving(folder.path, {
    ...env,
    LAZARET_ROLE: "worker",
    LAZARET_WORKERS: "2",
    OTEL_SERVICE_NAME: "back",
    OTEL_BSP_SCHEDULE_DELAY: "600000",
  });
  await until("the receiver was called", () => receiver.requests.length === 1);
  await worker.says(/"event":"job".*"settlement":"done"/);
  assert.equal(await worker.stop("SIGTERM"), 0);

  const { spans } = collector;
  const one = (name: string): ReceivedSpan => {
    const [found, ...more] = spans.filter((span) => span.name === name);
    assert.ok(found && more.length === 0, `${more.length + 1} of ${name} in ${spans.map((span) => span.name)}`);
    return found;
  };
  const [request, send, queue] = [one("POST /api/v1/scan/async/download"), one("send jobs"), one("queue")];
  const [run, download, scan] = [one("process jobs"), one("GET"), one("scan")];
  const [finish, callback] = [one("finish"), one("POST")];
  assert.deepEqual(
    spans.map(({ traceId, traceState }) => [traceId, traceState]),
    spans.map(() => [caller.traceId, "vendor=opaque"]),
  );
  assert.deepEqual(
    [request, send, queue, run, download, scan, finish, callback].map(({ parentSpanId }) => parentSpanId),
    [caller, request, send, send, run, run, run, run].map(({ spanId }) => spanId),
  );
  assert.deepEqual(
    [request, send, queue, run, download, scan, finish, callback].map(({ kind }) => kind),
    [2, 4, 1, 5, 3, 1, 1, 3],
  );
  assert.deepEqual([request.resource["service.name"], run.resource["service.name"]], ["front", "back"]);
  assert.deepEqual([request.resource["lazaret.role"], run.resource["lazaret.role"]], ["api", "worker"]);
  assert.equal(run.resource["deployment.environment.name"], "test");
  assert.ok(queue.start < queue.end && queue.end <= run.end && scan.start <= scan.end && run.start <= download.start);
  assert.deepEqual(
    spans.filter(({ status }) => status === 2).map(({ name }) => name),
    [],
  );

  const { "lazaret.request.id": requestId, "lazaret.job.id": jobId, ...ofRequest } = request.attributes;
  assert.deepEqual(ofRequest, {
    "http.request.method": "POST",
    "http.route": "/api/v1/scan/async/download",
    "url.path": "/api/v1/scan/async/download",
    "client.address": "127.0.0.1",
    "lazaret.tenant": "default",
    "lazaret.key": "key-1",
    "http.response.status_code": 204,
  });
  assert.equal(requestId, submitted.headers.get("x-request-id"));
  assert.deepEqual(
    [send, queue, run].map(({ attributes }) => attributes["messaging.message.id"]),
    [jobId, jobId, jobId],
  );
  assert.deepEqual(download.attributes, {
    "url.full": `${files.origin}/moved`,
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(files.origin).port),
    "http.request.method": "GET",
  });
  assert.equal(scan.attributes["lazaret.verdict"], "clean");
  assert.equal(scan.attributes["file.size"], content.length);
  assert.equal(run.attributes["lazaret.settlement"], "done");
  assert.equal(callback.attributes["http.response.status_code"], 200);
  assert.match(worker.stdout, new RegExp(`"event":"job".*"otel_trace_id":"${caller.traceId}"`));

  const headerOf = ({ spanId }: ReceivedSpan): string => `00-${caller.traceId}-${spanId}-01`;
  assert.equal(asked.files?.traceparent, headerOf(download));
  assert.equal(asked.files?.tracestate, "vendor=opaque");
  assert.equal(asked.stranger?.traceparent, undefined, "the origin it was redirected to is not on the list");
  assert.deepEqual(receiver.requests[0]?.values("traceparent"), [headerOf(callback)]);

  assert.deepEqual(
    new Set(collector.heads.map((head) => `${head["content-type"]} ${head.path} ${head["x-collector-key"]}`)),
    new Set(["application/json", "application/x-protobuf"].map((type) => `${type} /v1/traces secret-of-the-collector`)),
  );
  const sent = Buffer.concat(collector.bodies).toString("latin1");
  assert.doesNotMatch(sent, /secret-of|key-of-the-traces|nobody's business|eicar/i);
});
