import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type { Settings } from "../../src/settings.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import "../support/leftovers.ts";
import { newSchema, type TestPostgres, testPostgres } from "../support/postgres.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** What all processes of one fleet share; each has a data folder of its own, as on a machine of its own. */
async function fleetSettings({ url }: TestPostgres): Promise<Partial<Settings>> {
  return {
    platform: "postgres",
    postgresUrl: url,
    postgresSchema: newSchema(),
    secretKey: randomBytes(32).toString("hex"),
    ...(await anyEngine()),
    signCallbackInvocations: true,
    allowHttpCallbacks: true,
  };
}

function submit(service: TestService, body: object): Promise<Response> {
  return service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

test("two APIs and two workers on one database: a job from one reaches its callback, and its result is on the other", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(200));
  await using server = await testPostgres();
  const fleet = await fleetSettings(server);
  // All of them start at once on an empty database.
  const started = await Promise.all([
    testService({ ...fleet, role: "api" }),
    testService({ ...fleet, role: "api" }),
    testService({ ...fleet, role: "worker", apiKeys: [] }),
    testService({ ...fleet, role: "worker", apiKeys: [] }),
  ]);
  await using all = new AsyncDisposableStack();
  for (const service of started) all.use(service);
  const [one, other, ...workers] = started;
  assert.ok(one && other);

  const count = 12;
  const jobs = Array.from({ length: count }, (_, index) => ({
    download_url: `${files.origin}/eicar`,
    trace_id: `job-${index}`,
    callback_url: receiver.origin,
  }));
  const answers = await Promise.all(jobs.map((job, index) => submit(index % 2 ? one : other, job)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([204]));
  await until("all callbacks have come", () => receiver.requests.length >= count, { limitMs: 60_000 });
  const bodies = receiver.requests.map(({ body }) => JSON.parse(body.toString()));
  assert.deepEqual(bodies.map(({ trace_id }) => trace_id).toSorted(), jobs.map(({ trace_id }) => trace_id).toSorted());
  assert.deepEqual(
    new Set(bodies.map(({ status, finding }) => `${status} ${finding}`)),
    new Set(["infected Eicar-Test-Signature"]),
  );

  for (const api of [one, other]) {
    const result = await api.call("/api/v1/scan/async/result?trace_id=job-0");
    assert.equal(((await result.json()) as { status: string }).status, "infected");
    const readiness = await fetch(`${api.url}/readyz?verbose`);
    assert.match(await readiness.text(), /0 jobs wait/);
  }
  const keys = await Promise.all(
    started.slice(0, 2).map(async ({ url }) => (await fetch(`${url}/.well-known/lazaret/callback-key.pem`)).text()),
  );
  assert.match(keys[0] ?? "", /BEGIN PUBLIC KEY/);
  assert.equal(keys[0], keys[1], "the key pair is one");
  const runs = (): number => workers.flatMap(({ lines }) => lines.filter(({ event }) => event === "job")).length;
  await until("the last job is logged", () => runs() >= count);
  assert.equal(runs(), count, "each job ran once");
});

test("while the server is away jobs are refused with 503 and readiness names the queue; then all goes on by itself", async () => {
  await using files = await fileServer();
  await using server = await testPostgres({ durable: true });
  await using service = await testService(await fleetSettings(server));
  const job = (trace_id: string): object => ({ download_url: `${files.origin}/eicar`, trace_id });
  const result = async (traceId: string): Promise<number> =>
    (await service.call(`/api/v1/scan/async/result?trace_id=${traceId}`)).status;
  assert.equal((await submit(service, job("before"))).status, 201);
  await until("the first is done", async () => (await result("before")) === 200, { limitMs: 60_000 });

  await server.kill();
  // A process of the server may outlive it for a moment, and what that has written is as durable.
  const taken: string[] = [];
  let refused = await submit(service, job("meanwhile-0"));
  while (refused.status === 201 && taken.length < 1000) {
    taken.push(`meanwhile-${taken.length}`);
    refused = await submit(service, job(`meanwhile-${taken.length}`));
  }
  assert.equal(refused.status, 503);
  assert.ok(refused.headers.has("retry-after"));
  const readiness = await fetch(`${service.url}/readyz?verbose`);
  assert.equal(readiness.status, 503);
  assert.match(await readiness.text(), /queue/);

  await server.start();
  await until("jobs are taken again", async () => (await submit(service, job("after"))).status === 201);
  for (const each of [...taken, "after", "before"]) {
    await until(`${each} is done`, async () => (await result(each)) === 200, { limitMs: 60_000 });
  }
  await until("it is ready", async () => (await fetch(`${service.url}/readyz`)).status !== 503);
});
