import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { newSecret } from "../../src/access/api-key.ts";
import { startAsyncApi } from "../../src/lambda.ts";
import { log } from "../../src/log.ts";
import { type JobStore, openJobStore } from "../../src/platforms/aws/platform.ts";
import type { Answer, ApiRequest } from "../../src/receive/request-answer.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { sampleFinding } from "../contracts/sample-job.ts";
import { type AwsInstallation, awsInstallation } from "../support/aws/aws-service.ts";
import { type FaultyProxy, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { rawChecks } from "../support/aws/raw-checks.ts";
import { fileServer } from "../support/file-server.ts";
import { until } from "../support/until.ts";

const page = readFileSync(new URL("../../../../docs/run-on-aws.md", import.meta.url), "utf8");

/** What docs/run-on-aws.md lets somebody do to the table, which its own test compares with the stacks. */
function rights(who: string): { everywhere: string[]; inside: string[]; partitions: string[] } {
  const [line = ""] = (page.split(`\n| ${who} |`)[1] ?? "").split("\n");
  const [everywhere = "", rest = ""] = line.split(", and in the partitions ");
  const names = (text: string, pattern: RegExp): string[] => text.match(pattern) ?? [];
  return {
    everywhere: names(everywhere, /(?<=`)[A-Z]\w+(?=`)/g),
    inside: names(rest, /(?<=`)[A-Z]\w+(?=`)/g),
    partitions: names(rest, /(?<=`)[a-z]+(?=`)/g),
  };
}

/** Refuses what the role may not do to the table, and says what that was. */
function guarded(proxy: FaultyProxy, who: string): string[] {
  const { everywhere, inside, partitions } = rights(who);
  assert.ok(everywhere.includes("GetItem"));
  assert.ok(
    partitions.length > 0 || !page.includes(`| ${who} | \`GetItem\` \`Query\`, and`),
    "the page says it in other words",
  );
  const denied: string[] = [];
  proxy.fault = (operation, body) => {
    if (!/Item$|^Query$/.test(operation)) return undefined;
    const { Key, Item } = JSON.parse(body);
    const partition = (Key ?? Item)?.pk.S;
    if (everywhere.includes(operation) || (inside.includes(operation) && partitions.includes(partition)))
      return undefined;
    denied.push(`${operation} ${partition}`);
    return { kind: "refused", status: 400, code: "AccessDeniedException" };
  };
  return denied;
}

/** The installation's table as an operator's command sees it, or somebody who comes another way. */
function operator({ aws, settings }: AwsInstallation, endpoint = aws.endpoint): JobStore & AsyncDisposable {
  const { awsQueueUrl = "", awsDeadLettersUrl = "", awsTable = "" } = settings;
  const store = openJobStore({
    region: "us-east-1",
    endpoints: { sqs: endpoint, dynamodb: endpoint },
    queueUrl: awsQueueUrl,
    deadLetterQueueUrl: awsDeadLettersUrl,
    tableName: awsTable,
    checks: rawChecks,
    sealer: () => assert.fail("keys are not sealed"),
    now: aws.sqs.now,
  });
  return { ...store, [Symbol.asyncDispose]: store.close };
}

async function limitedKey({ access }: JobStore): Promise<{ id: string; secret: string }> {
  const { id, digest, secret } = newSecret();
  const limits = { requestsPerSecond: 1000, filesPerMonth: 1000, scansAtOnce: 10, jobsWaiting: 1 };
  await access.putTenant({ name: "shop", weight: 2, limits }, undefined);
  await access.addKey({ id, digest, name: "web", tenant: "shop", scopes: ["scan", "read"], madeAt: 0, limits });
  return { id, secret };
}

const json = { "Content-Type": "application/json" };

test("the synchronous fleet does all it has to with the rights it has, and a job that is sent to it leaves no trace", async () => {
  await using installation = await awsInstallation();
  await using store = operator(installation);
  await using proxy = await faultyProxy(installation.aws.endpoint);
  const { secret } = await limitedKey(store);
  const denied = guarded(proxy, "the fleet of sync-api");
  await using service = await installation.service({ role: "api", awsEndpoint: proxy.endpoint });
  const [start] = (await store.audit.list({ limit: 1 }))?.entries ?? [];
  assert.equal(start?.what, "service.start");
  const headers = { Authorization: `Bearer ${secret}` };
  const scan = { method: "POST", headers: { ...headers, "Content-Type": "application/octet-stream" }, body: "clean" };
  assert.equal((await service.call("/api/v1/scan/sync/binary", scan)).status, 200);
  await until("what it counts is written", async () => {
    const partitions = (await itemsOf(installation)).map(({ pk }) => pk?.S);
    return partitions.includes("usage") && partitions.includes("counts");
  });
  // What it finds it keeps, and it shows what others did, without a key that opens jobs.
  await using ofFleet = operator(installation, proxy.endpoint);
  await ofFleet.findings.add(sampleFinding({ at: installation.aws.sqs.now() }));
  assert.equal((await ofFleet.findings.list({ limit: 5 }))?.entries.length, 1);
  assert.deepEqual((await ofFleet.history.list({ limit: 5 }))?.entries, []);
  assert.deepEqual(denied, []);

  const body = JSON.stringify({ download_url: "https://files.example/x", trace_id: "t" });
  const job = { method: "POST", headers: { ...headers, ...json }, body };
  assert.equal((await service.call("/api/v1/scan/async/download", job)).status, 503);
  assert.deepEqual(
    (await itemsOf(installation)).filter(({ pk }) => /^(jobs|trace|waiting)#/.test(pk?.S ?? "")),
    [],
  );
});

test("function and workers do all they have to with the rights they have; a revoked key is known when the function wakes", async () => {
  await using installation = await awsInstallation();
  await using store = operator(installation);
  await using files = await fileServer();
  await using proxy = await faultyProxy(installation.aws.endpoint);
  const { id, secret } = await limitedKey(store);
  const denied = guarded(proxy, "the function of async-api");
  await using workersProxy = await faultyProxy(installation.aws.endpoint);
  const deniedToWorkers = guarded(workersProxy, "workers");
  const read = readSettings({ flags: {}, env: {}, file: {} });
  if (read.kind !== "ok") throw new Error("the defaults do not parse");
  const own = { awsEndpoint: proxy.endpoint, apiKeys: ["key-of-the-function"], allowNetworks: ["127.0.0.0/8"] };
  const settings = { ...read.settings, ...installation.settings, ...own };
  const { advance, now } = installation.aws.sqs;
  const lines: string[] = [];
  const say = log({ level: "info", format: "json", write: (line) => lines.push(line) });
  await using api = await startAsyncApi(settings, say, now);
  const headers = { host: "api", authorization: `Bearer ${secret}`, "content-type": "application/json" };

  const body = JSON.stringify({ download_url: `${files.origin}/clean`, trace_id: "t" });
  const submit = (): Promise<Answer> => api.handle(requestOf("/api/v1/scan/async/download", headers, body));
  assert.equal((await submit()).status, 201);
  const refused = await submit();
  assert.deepEqual([refused.status, (refused.json as { code: string }).code], [429, "jobs_waiting"]);
  {
    await using _worker = await installation.service({
      role: "worker",
      apiKeys: [],
      awsEndpoint: workersProxy.endpoint,
    });
    await until("the job is done, and the next accepted", async () => (await submit()).status === 201);
  }
  // As long as the function stood still no timer of it ran.
  await advance(60);
  assert.equal((await api.handle(requestOf("/v1/usage", headers))).status, 200);
  const [used] = (await store.access.read()).keys;
  assert.ok(used?.lastUsedAt, "when its key was used is written");
  await store.access.removeKey(id);
  await advance(3);
  assert.equal((await api.handle(requestOf("/v1/usage", headers))).status, 401);
  assert.deepEqual([denied, deniedToWorkers, lines], [[], [], []]);
});

function itemsOf({ aws, settings }: AwsInstallation): ReturnType<typeof aws.dynamodb.items> {
  return aws.dynamodb.items(settings.awsTable ?? "");
}

/** As the handler of the function makes them. */
function requestOf(path: string, headers: Record<string, string>, body?: string): ApiRequest {
  const bytes = Buffer.from(body ?? "");
  return {
    id: "r",
    method: body === undefined ? "GET" : "POST",
    remote: "203.0.113.7",
    path,
    query: new URLSearchParams(),
    headers,
    contentLength: bytes.length,
    body: (async function* () {
      yield bytes;
    })(),
    bodyBegun: false,
    bodyArrived: true,
    signal: new AbortController().signal,
    stopWhenGone: () => {},
    note: () => {},
  } satisfies ApiRequest;
}
