import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
let service: TestService;
before(async () => {
  clamd = await testClamd();
  service = await testService({ clamd: `unix:${clamd.socketPath}`, apiKeys: [testKey, "second-key-for-rotation"] });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

const withAuth = (authorization?: string): Promise<Response> =>
  fetch(`${service.url}/api/v1/test`, { headers: authorization === undefined ? {} : { Authorization: authorization } });

// spec: endpoint-4, auth-2, auth-3, version-4
test("GET /api/v1/test answers 204 for each of the accepted secrets", async () => {
  assert.equal((await withAuth(`Bearer ${testKey}`)).status, 204);
  assert.equal((await withAuth("Bearer second-key-for-rotation")).status, 204);
  assert.equal((await withAuth(`bearer ${testKey}`)).status, 204);
});

const wrong = [undefined, "", "Bearer", "Bearer ", testKey, `Basic ${testKey}`, "Bearer wrong", `Bearer ${testKey}x`];
for (const authorization of wrong) {
  // spec: error-6, error-7
  test(`the Authorization header ${JSON.stringify(authorization)?.replace(testKey, "<key>")} gets 401`, async () => {
    const response = await withAuth(authorization);
    assert.equal(response.status, 401);
    assert.equal(response.headers.get("www-authenticate"), "Bearer");
    const body = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(
      { ...body, message: "", hint: "" },
      {
        statusCode: 401,
        error: "Unauthorized",
        code: "invalid_api_key",
        message: "",
        hint: "",
        request_id: response.headers.get("x-request-id"),
      },
    );
  });
}

test("an unknown path gets 404, also with a key", async () => {
  for (const path of ["/", "/api/v1/nothing", "/api/v2/test", "/api/v1/test/"]) {
    const response = await service.call(path);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [404, "not_found"], path);
  }
});

test("a wrong method on a known path gets 405 and is told the right ones", async () => {
  const get = await service.call("/api/v1/scan/sync/binary");
  assert.deepEqual([get.status, get.headers.get("allow")], [405, "POST"]);
  const post = await service.call("/api/v1/test", { method: "POST" });
  assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET, HEAD"]);
  assert.equal(((await post.json()) as { code: string }).code, "method_not_allowed");
});

test("duplicate slashes in a path are collapsed", async () => {
  assert.equal((await service.call("//api///v1/test")).status, 204);
});

test("health needs no key", async () => {
  assert.equal((await fetch(`${service.url}/healthz`)).status, 204);
  assert.equal((await fetch(`${service.url}/livez`)).status, 204);
  assert.equal((await fetch(`${service.url}/readyz`)).status, 204);
});

test("readiness tells its checks when asked", async () => {
  const response = await fetch(`${service.url}/readyz?verbose`);
  const body = (await response.json()) as { ready: boolean; checks: { name: string; ok: boolean; detail: string }[] };
  assert.equal(response.status, 200);
  assert.equal(body.ready, true);
  assert.match(body.checks.find((check) => check.name === "clamd")?.detail ?? "", /^ClamAV \d.* at unix:/);
  assert.match(body.checks.find((check) => check.name === "signatures")?.detail ?? "", /^no official database/);
});

test("a client's own request id comes back, a strange one is replaced", async () => {
  const own = await service.call("/api/v1/test", { headers: { "X-Request-Id": "abc-123" } });
  assert.equal(own.headers.get("x-request-id"), "abc-123");
  const strange = await service.call("/api/v1/test", { headers: { "X-Request-Id": "a b" } });
  assert.match(strange.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
});

test("each request leaves one log line, without its query and without the key", async () => {
  const from = service.lines.length;
  await service.call("/api/v1/test?secret=canary", { headers: { "X-Request-Id": "log-line" } });
  const lines = service.lines.slice(from);
  assert.equal(lines.length, 1);
  assert.deepEqual(
    [lines[0]?.event, lines[0]?.request_id, lines[0]?.path, lines[0]?.status],
    ["request", "log-line", "/api/v1/test", 204],
  );
  const all = JSON.stringify(service.lines);
  assert.doesNotMatch(all, /canary/);
  assert.ok(!all.includes(testKey));
});

test("however often anybody asks for the metrics, the queue is counted once in a while", async () => {
  let clockReads = 0;
  const now = (): number => {
    clockReads += 1;
    return Date.now();
  };
  await using counted = await testService({ clamd: `unix:${clamd.socketPath}` }, {}, { now });
  const ask = async (): Promise<string> => (await fetch(`${counted.url}/metrics`)).text();
  assert.match(await ask(), /^lazaret_queue_ready 0$/m);
  clockReads = 0;
  for (let round = 0; round < 30; round += 1) await Promise.all(Array.from({ length: 10 }, ask));
  // Each count of the queue reads the clock once; workers that look for jobs do so a few times a second.
  assert.ok(clockReads < 300, `300 questions for the metrics made ${clockReads} for the queue`);
});

test("who tries many keys is slowed down and then told to stop; a right key from the same address is not", async () => {
  await using own = await testService({ clamd: `unix:${clamd.socketPath}` });
  const tryKey = (key: string): Promise<Response> =>
    fetch(`${own.url}/api/v1/test`, { headers: { Authorization: `Bearer ${key}` } });
  const tries = await Promise.all(Array.from({ length: 150 }, (_, index) => tryKey(`wrong-key-number-${index}`)));
  const refused = tries.filter(({ status }) => status === 429);
  assert.ok(tries.every(({ status }) => status === 401 || status === 429));
  assert.ok(refused.length > 0 && refused.length < 150, `${refused.length} of 150 got 429`);
  for (const response of refused) {
    assert.equal(((await response.json()) as { code: string }).code, "too_many_wrong_keys");
    assert.match(response.headers.get("retry-after") ?? "", /^([1-9]|[12]\d|30)$/);
  }
  assert.equal((await tryKey(testKey)).status, 204);
});

test("health checks and metrics leave no log line unless something is wrong, and are counted all the same", async () => {
  await using quiet = await testService({ clamd: "unix:/nowhere/clamd.sock" });
  const from = quiet.lines.length;
  // One API all the time: each of a fleet counts for itself.
  const { publicUrl: url } = quiet;
  for (const path of ["/healthz", "/livez", "/metrics", "/healthz", "/readyz"]) await fetch(`${url}${path}`);
  await fetch(`${url}/version`);
  const paths = quiet.lines
    .slice(from)
    .flatMap(({ event, path, status }) => (event === "request" ? [[path, status]] : []));
  assert.deepEqual(paths, [
    ["/readyz", 503],
    ["/version", 200],
  ]);
  await until("the metrics are counted again", async () => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return /^lazaret_requests_total\{method="GET",status="204"\} 3$/m.test(text);
  });
});

test("behind a trusted proxy the log tells the client's address, and wrong keys are counted by it", async () => {
  await using proxied = await testService({ clamd: `unix:${clamd.socketPath}`, trustedProxies: ["127.0.0.0/8"] });
  const ask = (client: string, key: string): Promise<Response> =>
    fetch(`${proxied.url}/api/v1/test`, { headers: { Authorization: `Bearer ${key}`, "X-Forwarded-For": client } });
  assert.equal((await ask("203.0.113.9, 192.0.2.7", testKey)).status, 204);
  assert.equal(proxied.lines.find(({ path }) => path === "/api/v1/test")?.remote, "192.0.2.7");
  const tries = await Promise.all(Array.from({ length: 120 }, (_, index) => ask("192.0.2.7", `wrong-key-${index}`)));
  assert.ok(tries.some(({ status }) => status === 429));
  assert.equal((await ask("192.0.2.8", "wrong-key")).status, 401);
});
