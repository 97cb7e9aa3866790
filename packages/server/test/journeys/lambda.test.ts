import assert from "node:assert/strict";
import { before, test } from "node:test";
import { awsOperatorStore } from "../../src/compose/platform.ts";
import { startAsyncApi } from "../../src/lambda.ts";
import { log } from "../../src/log.ts";
import { type LambdaEvent, type LambdaResult, lambdaHandler } from "../../src/receive/lambda-handler.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { type AwsInstallation, awsInstallation } from "../support/aws/aws-service.ts";
import { type FaultyProxy, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { otelVariables } from "../support/otel-variables.ts";
import { type OtlpReceiver, otlpReceiver } from "../support/otlp-receiver.ts";
import { tenantKey } from "../support/tenant-key.ts";
import { until } from "../support/until.ts";

const key = "key-of-the-function";
let installation: AwsInstallation;
let files: FileServer;
let handler: (event: LambdaEvent) => Promise<LambdaResult>;
let proxy: FaultyProxy;
let settings: Settings;
let collector: OtlpReceiver;
const lines: Record<string, unknown>[] = [];
const close = new AsyncDisposableStack();
before(async () => {
  installation = close.use(await awsInstallation());
  files = close.use(await fileServer());
  const read = readSettings({ flags: {}, env: {}, file: {} });
  if (read.kind !== "ok") throw new Error("the defaults do not parse");
  proxy = close.use(await faultyProxy(installation.aws.endpoint));
  settings = {
    ...read.settings,
    ...installation.settings,
    awsEndpoint: proxy.endpoint,
    apiKeys: [key],
    allowNetworks: ["127.0.0.0/8"],
    signCallbackInvocations: true,
    monthlyQuota: 1000,
  };
  collector = close.use(await otlpReceiver());
  // The function sends its spans before it answers, not some time later.
  const everyMs = (ms: string): Disposable =>
    otelVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin, OTEL_BSP_SCHEDULE_DELAY: ms });
  const say = log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) });
  using _function = everyMs("600000");
  const api = close.use(await startAsyncApi(settings, say, installation.aws.sqs.now));
  using _worker = everyMs("20");
  handler = lambdaHandler({ handle: api.handle, log: say });
  close.use(await installation.service({ role: "worker", apiKeys: [], signCallbackInvocations: true }));
});
atTheEnd(() => close.disposeAsync());

interface Call {
  method?: string;
  path: string;
  query?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** As API Gateway's HTTP API and function URLs send it, recorded and cut down to what matters. */
function httpApi({ method = "GET", path, query = "", headers = {}, body }: Call, stage = "$default"): LambdaEvent {
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: path,
    rawQueryString: query,
    headers: {
      accept: "*/*",
      authorization: `Bearer ${key}`,
      "content-length": String(body?.length ?? 0),
      host: "abcdefghij.execute-api.eu-central-1.amazonaws.com",
      "x-amzn-trace-id": "Root=1-5f7d4f3a-1234567890abcdef12345678",
      "x-forwarded-for": "203.0.113.7",
      ...headers,
    },
    requestContext: {
      accountId: "123456789012",
      apiId: "abcdefghij",
      domainName: "abcdefghij.execute-api.eu-central-1.amazonaws.com",
      http: { method, path, protocol: "HTTP/1.1", sourceIp: "203.0.113.7", userAgent: "curl/8.5.0" },
      requestId: "JKJaXmPLvHcESHA=",
      stage,
      time: "10/Mar/2026:05:16:23 +0000",
      timeEpoch: 1_773_119_783_636,
    },
    ...(body !== undefined && { body: Buffer.from(body).toString("base64") }),
    isBase64Encoded: body !== undefined,
  } as LambdaEvent;
}

/** As an application load balancer sends it; with `multi` as it does when a target group has multi value headers. */
function loadBalancer({ method = "GET", path, query = "", headers = {}, body = "" }: Call, multi = false): LambdaEvent {
  const all = {
    accept: "*/*",
    authorization: `Bearer ${key}`,
    host: "scanner.example.com",
    "x-forwarded-for": "198.51.100.1, 203.0.113.7",
    "x-forwarded-port": "443",
    "x-forwarded-proto": "https",
    ...headers,
  };
  const parameters =
    query === ""
      ? []
      : query
          .split("&")
          .map((pair): [string, string] => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
  const lists = (entries: [string, string][]): Record<string, string[]> =>
    Object.fromEntries(entries.map(([name, value]) => [name, [value]]));
  return {
    requestContext: {
      elb: { targetGroupArn: "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/x/0" },
    },
    httpMethod: method,
    path,
    ...(multi
      ? { multiValueHeaders: lists(Object.entries(all)), multiValueQueryStringParameters: lists(parameters) }
      : { headers: all, queryStringParameters: Object.fromEntries(parameters) }),
    body,
    isBase64Encoded: false,
  } as LambdaEvent;
}

const senders: Record<string, (call: Call) => LambdaEvent> = {
  "API Gateway": (call) => httpApi(call),
  "API Gateway with a named stage": (call) => httpApi({ ...call, path: `/prod${call.path}` }, "prod"),
  "a load balancer": (call) => loadBalancer(call),
  "a load balancer with multi value headers": (call) => loadBalancer(call, true),
};
const json = { "content-type": "application/json" };

function headersOf({ headers, multiValueHeaders }: LambdaResult): Record<string, string> {
  const all =
    headers ??
    Object.fromEntries(Object.entries(multiValueHeaders ?? {}).map(([name, [value]]) => [name, value ?? ""]));
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]));
}

for (const [sender, event] of Object.entries(senders)) {
  test(`behind ${sender}: the key is checked, a job is taken in, and its result is polled`, async () => {
    assert.equal((await handler(event({ path: "/api/v1/test" }))).statusCode, 204);
    const refused = await handler(event({ path: "/api/v1/test", headers: { authorization: "Bearer wrong-key" } }));
    assert.deepEqual([refused.statusCode, JSON.parse(refused.body).code], [401, "invalid_api_key"]);
    assert.equal(headersOf(refused)["www-authenticate"], "Bearer");

    const traceId = `ü & ${sender}`;
    const body = JSON.stringify({ download_url: `${files.origin}/clean`, trace_id: traceId });
    const accepted = await handler(event({ method: "POST", path: "/api/v1/scan/async/download", headers: json, body }));
    assert.deepEqual([accepted.statusCode, accepted.body, accepted.isBase64Encoded], [201, "", false]);
    const { location = "", "content-length": length } = headersOf(accepted);
    assert.equal(length, "0");
    const [path = "", query = ""] = location.split("?");
    const finished = async (): Promise<boolean> => (await handler(event({ path, query }))).statusCode === 200;
    await until("the worker has run it", finished, { limitMs: 60_000 });
    const result = await handler(event({ path, query }));
    assert.deepEqual(JSON.parse(result.body), { status: "clean", size: 10, realfiletype: "ASCII text" });
    assert.match(headersOf(result)["content-type"] ?? "", /^application\/json/);
    assert.equal(lines.at(-1)?.remote, "203.0.113.7");
  });
}

test("a trace goes on from the function through the queue to the worker", async () => {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const headers = { ...json, traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: "vendor=opaque" };
  const body = JSON.stringify({ download_url: `${files.origin}/clean`, trace_id: "traced" });
  await handler(httpApi({ method: "POST", path: "/api/v1/scan/async/download", headers, body }));
  const named = (name: string) => collector.spans.find((span) => span.traceId === traceId && span.name === name);
  const [request, send] = [named("POST /api/v1/scan/async/download"), named("send jobs")];
  assert.deepEqual([request?.parentSpanId, send?.parentSpanId], ["00f067aa0ba902b7", request?.spanId]);
  await until("the worker has run it", () => named("process jobs") !== undefined, { limitMs: 60_000 });
  const run = named("process jobs");
  assert.deepEqual([run?.parentSpanId, run?.traceState], [send?.spanId, "vendor=opaque"]);
  assert.equal(run?.attributes["messaging.system"], "aws_sqs");
});

test("the function tells who it is, what is left of the quota, failed callbacks and the public keys, as the service does", async () => {
  const get = async (path: string, headers?: Record<string, string>): Promise<LambdaResult> =>
    handler(httpApi({ path, ...(headers && { headers }) }));
  const { tenantId } = JSON.parse((await get("/v1/whoami")).body);
  assert.match(tenantId, /^[0-9a-f-]{36}$/);
  const { credits, quota } = JSON.parse((await get("/v1/usage")).body);
  assert.deepEqual([typeof credits, quota], ["number", { limit: 1000, period: "MONTH" }]);
  assert.ok(credits <= 1000, `${credits} are left`);
  assert.deepEqual(JSON.parse((await get("/v1/callback/failures")).body), { failures: [] });
  for (const path of ["/v1/whoami", "/v1/usage", "/v1/callback/failures"]) {
    assert.equal((await get(path, { authorization: "Bearer wrong-key" })).statusCode, 401, path);
  }
  for (const [form, path] of [
    ["PublicKeyPEMX509", "/.well-known/lazaret/callback-key.pem"],
    ["PublicKeyPEMPKCS1", "/.well-known/lazaret/callback-key.pkcs1.pem"],
  ] as const) {
    const answer = await get(path, { authorization: "" });
    assert.equal(answer.statusCode, 200, answer.body);
    assert.match(answer.body, /^-----BEGIN (RSA )?PUBLIC KEY-----/);
    assert.equal(answer.body, installation.aws.json.parameters.get(`/scanner/lazaret/${form}`));
  }
  const signing = proxy.secretsRead.filter((name) => !name.endsWith("/job-sealing-key"));
  assert.deepEqual(signing, [], "the function has no right to the private key");
});

test("while the table is away a poll is refused in its own words, and a submission in others", async () => {
  proxy.fault = () => ({ kind: "refused", status: 400, code: "AccessDeniedException" });
  try {
    const poll = await handler(httpApi({ path: "/api/v1/scan/async/result", query: "trace_id=t" }));
    const body = JSON.stringify({ download_url: `${files.origin}/clean`, trace_id: "t" });
    const path = "/api/v1/scan/async/download";
    const submission = await handler(httpApi({ method: "POST", path, headers: json, body }));
    const words = [poll, submission].map((answer) => {
      const { code, message } = JSON.parse(answer.body);
      return [answer.statusCode, headersOf(answer)["retry-after"], code, message];
    });
    assert.deepEqual(words, [
      [503, "5", "queue_unavailable", "the result could not be looked up: the store cannot be reached"],
      [503, "5", "queue_unavailable", "the job could not be kept, and was not accepted"],
    ]);
  } finally {
    proxy.fault = () => undefined;
  }
});

test("a key that an operator makes or takes away is so with the next request, however long the function stood still", async () => {
  await using operator = await awsOperatorStore(settings);
  const shop = tenantKey("shop");
  const asked = async (): Promise<number> => {
    await installation.aws.sqs.advance(3);
    const headers = { authorization: `Bearer ${shop.secret}` };
    return (await handler(httpApi({ path: "/v1/whoami", headers }))).statusCode;
  };
  assert.equal(await asked(), 401);
  await operator.access.addKey(shop.stored);
  assert.equal(await asked(), 200);
  await operator.access.removeKey(shop.stored.id);
  assert.equal(await asked(), 401);
});

test("the function has the asynchronous endpoints and no others", async () => {
  for (const path of ["/api/v1/scan/sync/binary", "/api/v1/scan/sync/download", "/nothing"]) {
    assert.equal((await handler(httpApi({ method: "POST", path, headers: json, body: "{}" }))).statusCode, 404);
  }
  assert.equal(
    (await handler(httpApi({ path: "/v1/test", headers: { authorization: "", "x-api-key": key } }))).statusCode,
    204,
  );
});

test("a header that came twice, a body that is no JSON and one that is too large are refused in our own words", async () => {
  const path = "/api/v1/scan/async/download";
  const twice = loadBalancer({ path: "/api/v1/test" }, true) as LambdaEvent & {
    multiValueHeaders: Record<string, string[]>;
  };
  twice.multiValueHeaders.authorization = [`Bearer ${key}`, "Bearer other"];
  assert.equal((await handler(twice)).statusCode, 400);
  const wrong = await handler(httpApi({ method: "POST", path, headers: json, body: "{" }));
  assert.deepEqual([wrong.statusCode, JSON.parse(wrong.body).code], [400, "invalid_json"]);
  const large = await handler(httpApi({ method: "POST", path, headers: json, body: `"${"x".repeat(262_144)}"` }));
  assert.deepEqual([large.statusCode, JSON.parse(large.body).code], [413, "body_too_large"]);
});
