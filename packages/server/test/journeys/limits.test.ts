import assert from "node:assert/strict";
import { request } from "node:http";
import { before, test } from "node:test";
import type { Limits } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import type { Settings } from "../../src/settings.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
let files: FileServer;
before(async () => {
  clamd = await testClamd();
  files = await fileServer({ "/silent": () => {}, "/large": (_, response) => response.end(Buffer.alloc(5000, "x")) });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());

interface Limited extends AsyncDisposable {
  service: TestService;
  dataDir: string;
  /** Secrets by the names of the keys; those named alike are of the tenant `shop`. */
  secrets: Readonly<Record<string, string>>;
  change(limits: Limits): Promise<void>;
}

/** A service with keys of the tenant `shop`, each with its limits, and the tenant's own. */
async function limited(
  tenant: Limits,
  keys: Record<string, Limits> = { web: {} },
  settings: Partial<Settings> = {},
): Promise<Limited> {
  await using undo = new AsyncDisposableStack();
  const { path: dataDir } = undo.use(temporaryFolder());
  const secrets: Record<string, string> = {};
  const change = async (limits: Limits): Promise<void> => {
    const store = await openJobStore(dataDir);
    const [before] = (await store.access.read()).tenants;
    await store.access.putTenant({ name: "shop", weight: 1, limits }, before);
    await store.close();
  };
  await change(tenant);
  const store = await openJobStore(dataDir);
  for (const [name, limits] of Object.entries(keys)) {
    const { id, digest, secret } = newSecret();
    await store.access.addKey({ id, digest, name, tenant: "shop", scopes: ["scan", "read"], madeAt: 0, limits });
    secrets[name] = secret;
  }
  await store.close();
  const service = undo.use(await start(dataDir, settings));
  const all = undo.move();
  return { service, dataDir, secrets, change, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const start = (dataDir: string, settings: Partial<Settings> = {}): Promise<TestService> =>
  testService({ platform: "embedded", dataDir, clamd: `unix:${clamd.socketPath}`, ...settings });

const as = (secret: string | undefined): { Authorization: string } => ({ Authorization: `Bearer ${secret}` });

function scan(service: TestService, secret: string | undefined, body = "clean file"): Promise<Response> {
  const headers = { ...as(secret), "Content-Type": "application/octet-stream" };
  return service.call("/api/v1/scan/sync/binary", { method: "POST", headers, body });
}

function submit(service: TestService, secret: string | undefined, path: string, traceId: string): Promise<Response> {
  return service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { ...as(secret), "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}${path}`, trace_id: traceId }),
  });
}

/** A scan that is under way until it is stopped. */
async function download(service: TestService, secret: string | undefined, signal: AbortSignal): Promise<void> {
  const headers = { ...as(secret), "Content-Type": "application/json" };
  const body = JSON.stringify({ download_url: `${files.origin}/silent` });
  const call = service.call("/api/v1/scan/sync/download", { method: "POST", headers, body, signal });
  await assert.rejects(call, { name: "AbortError" });
}

interface Told {
  code: string;
  retryAfter: number;
  policy: string | null;
}

async function refusal(response: Response): Promise<Told> {
  assert.equal(response.status, 429);
  const { code } = (await response.json()) as { code: string };
  const retryAfter = Number(response.headers.get("retry-after"));
  assert.ok(Number.isInteger(retryAfter) && retryAfter >= 1);
  assert.equal(response.headers.get("ratelimit"), `"${code}";r=0;t=${retryAfter}`);
  return {
    code,
    retryAfter,
    policy: response.headers.get("ratelimit-policy"),
  };
}

async function statuses(calls: readonly Promise<Response>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const response of await Promise.all(calls)) {
    counts[response.status] = (counts[response.status] ?? 0) + 1;
    await response.arrayBuffer();
  }
  return counts;
}

const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index));

// spec: tenant-6
test("requests beyond the rate get 429 and say which limit; other keys do not notice", async () => {
  await using shop = await limited({}, { web: { requestsPerSecond: 0.01 }, mobile: {} });
  const { service, secrets } = shop;
  const ask = (key: string): Promise<Response> => service.call("/api/v1/test", { headers: as(secrets[key]) });
  assert.equal((await ask("web")).status, 204);
  const told = await refusal(await ask("web"));
  assert.deepEqual([told.code, told.policy], ["rate_limit", '"rate_limit";q=1;w=100']);
  assert.ok(told.retryAfter > 60 && told.retryAfter <= 100);
  for (let count = 0; count < 20; count += 1) assert.equal((await ask("mobile")).status, 204);
  assert.equal((await service.call("/api/v1/test")).status, 204, "the key of the settings");
});

// spec: tenant-3
test("the rate of a tenant is that of all its keys; a wrong key and a missing scope are said first", async () => {
  await using shop = await limited({ requestsPerSecond: 0.01 }, { web: {}, mobile: {} });
  const { service, secrets } = shop;
  assert.equal((await service.call("/v1/whoami", { headers: as(secrets.web) })).status, 200);
  assert.equal((await refusal(await scan(service, secrets.mobile))).code, "rate_limit");
  assert.equal((await scan(service, newSecret().secret)).status, 401);
  const object = await service.call("/api/v1/scan/sync/objstore", { method: "POST", headers: as(secrets.web) });
  assert.equal(object.status, 403);
});

test("a refused upload is answered before its body is read", async () => {
  await using shop = await limited({ filesPerMonth: 0 });
  const { port } = shop.service;
  const status = await new Promise((resolve, reject) => {
    const upload = request({
      port,
      host: "127.0.0.1",
      method: "POST",
      path: "/api/v1/scan/sync/binary",
      headers: { ...as(shop.secrets.web), "Content-Type": "application/octet-stream", "Content-Length": 100_000_000 },
    });
    upload.on("response", (response) => {
      resolve(response.statusCode);
      upload.destroy();
    });
    upload.on("error", reject);
    upload.flushHeaders();
  });
  assert.equal(status, 429);
});

test("files per month are counted when they are accepted, many at once as well, and usage tells what is left", async () => {
  await using shop = await limited({ filesPerMonth: 10 }, { web: {}, mobile: { filesPerMonth: 2 } });
  const { service, secrets } = shop;
  const credits = async (): Promise<unknown> => (await service.call("/v1/usage", { headers: as(secrets.web) })).json();
  assert.deepEqual(await credits(), { credits: 10, quota: { limit: 10, period: "MONTH" } });
  assert.deepEqual(await statuses(times(8, () => scan(service, secrets.mobile))), { 200: 2, 429: 6 });
  assert.deepEqual(await credits(), { credits: 8, quota: { limit: 10, period: "MONTH" } });
  // What is refused for another reason is no file.
  assert.equal((await scan(service, "wrong")).status, 401);
  assert.equal(
    (await service.call("/api/v1/scan/sync/binary", { method: "POST", headers: as(secrets.web) })).status,
    415,
  );
  const mixed = times(20, (index) =>
    index % 2 ? scan(service, secrets.web) : submit(service, secrets.web, "/clean", `of-${index}`),
  );
  const { 429: refused, 200: scanned = 0, 201: queued = 0 } = await statuses(mixed);
  assert.deepEqual([refused, scanned + queued], [12, 8]);
  const told = await refusal(await submit(service, secrets.web, "/clean", "one-more"));
  assert.deepEqual([told.code, told.policy], ["monthly_files", '"monthly_files";q=10']);
  assert.deepEqual(await credits(), { credits: 0, quota: { limit: 10, period: "MONTH" } });
  await until("all that was accepted has results", async () => {
    const found = times(20, (index) =>
      service.call(`/api/v1/scan/async/result?trace_id=of-${index}`, { headers: as(secrets.web) }),
    );
    return ((await statuses(found))[200] ?? 0) === queued;
  });
});

test("bytes per month are counted when they are scanned; what was counted is there after a restart", async () => {
  await using shop = await limited({ bytesPerMonth: 25 });
  const { service, secrets, dataDir } = shop;
  for (let count = 0; count < 3; count += 1) {
    // Read anew after two seconds: nothing of it is refused too early.
    assert.equal((await scan(service, secrets.web, "0123456789")).status, 200);
  }
  await until("30 bytes are known", async () => (await scan(service, secrets.web, "")).status === 429);
  await service.service.stop(1000);
  await using again = await start(dataDir);
  const told = await refusal(await scan(again, secrets.web));
  assert.deepEqual([told.code, told.policy], ["monthly_bytes", '"monthly_bytes";q=25;qu="content-bytes"']);
});

test("no more jobs wait than a tenant may have, and there is room again when one is done", async () => {
  await using shop = await limited({ jobsWaiting: 3 }, { web: {}, mobile: { jobsWaiting: 1 } });
  const { service, secrets } = shop;
  const many = times(9, (index) => submit(service, secrets.web, "/silent", `silent-${index}`));
  assert.deepEqual(await statuses(many), { 201: 3, 429: 6 });
  const told = await refusal(await submit(service, secrets.web, "/clean", "one-more"));
  assert.deepEqual([told.code, told.policy], ["jobs_waiting", '"jobs_waiting";q=3']);
  assert.equal((await scan(service, secrets.web)).status, 200, "scans that are waited for are no jobs");
  await shop.change({ jobsWaiting: 5 });
  await until("the new limit holds", async () => (await submit(service, secrets.web, "/clean", "more")).status === 201);
  assert.equal((await refusal(await submit(service, secrets.mobile, "/clean", "mobile"))).code, "jobs_waiting");
});

test("no more scans are under way than a key may have, and there is room again when one ends", async () => {
  await using shop = await limited({}, { web: { scansAtOnce: 2 }, mobile: {} });
  const { service, secrets } = shop;
  const asked = files.asked.length;
  const stop = new AbortController();
  const held = times(2, () => download(service, secrets.web, stop.signal));
  await until("both are under way", () => files.asked.length === asked + 2);
  const told = await refusal(await scan(service, secrets.web));
  assert.deepEqual([told.code, told.policy], ["scans_at_once", '"scans_at_once";q=2;qu="concurrent-requests"']);
  assert.equal((await scan(service, secrets.mobile)).status, 200);
  stop.abort();
  await Promise.all(held);
  await until("there is room", async () => (await scan(service, secrets.web)).status === 200);
});

test("a file larger than the key may send is too big, however it comes", async () => {
  await using shop = await limited({ largestFile: 4000 }, { web: {}, mobile: { largestFile: 10 } });
  const { service, secrets } = shop;
  assert.equal((await scan(service, secrets.web, "x".repeat(4000))).status, 200);
  assert.equal((await scan(service, secrets.mobile)).status, 200, "10 bytes");
  for (const [secret, body] of [
    [secrets.web, "x".repeat(4001)],
    [secrets.mobile, "x".repeat(11)],
  ] as const) {
    const response = await scan(service, secret, body);
    assert.equal(response.status, 413);
    assert.equal(((await response.json()) as { code: string }).code, "scanner:too-big");
  }
  const form = new FormData();
  form.append("file", new Blob(["x".repeat(11)]));
  const sent = { method: "POST", headers: as(secrets.mobile), body: form };
  assert.equal((await service.call("/api/v1/scan/sync/form", sent)).status, 413);
  assert.equal((await submit(service, secrets.web, "/large", "large")).status, 201);
  const result = (): Promise<Response> =>
    service.call("/api/v1/scan/async/result?trace_id=large", { headers: as(secrets.web) });
  await until("it has a result", async () => (await result()).status === 200);
  const found = (await (await result()).json()) as { status: string; finding: string };
  assert.deepEqual([found.status, found.finding], ["no", "scanner:too-big"]);
});

test("two processes on one store hold limits together, seconds later", async () => {
  await using shop = await limited({ filesPerMonth: 6 }, { web: {}, mobile: { scansAtOnce: 1 } });
  const { service, secrets, dataDir } = shop;
  await using other = await start(dataDir);
  const stop = new AbortController();
  const held = download(service, secrets.mobile, stop.signal);
  await until("the other has heard of the scan", async () => {
    const response = await scan(other, secrets.mobile, "");
    return response.status === 429 && (await refusal(response)).code === "scans_at_once";
  });
  stop.abort();
  await held;
  await until("all is used up", async () => (await scan(service, secrets.web)).status === 429);
  await until("the other has heard of it", async () => {
    const response = await scan(other, secrets.web);
    return response.status === 429 && (await refusal(response)).code === "monthly_files";
  });
});

test("a limit that changes while requests run holds for the next ones, and none fails", async () => {
  await using shop = await limited({});
  const { service, secrets } = shop;
  const seen: number[] = [];
  let over = false;
  const clients = times(4, async () => {
    for (let count = 0; !over && count < 5000; count += 1) {
      const response = await service.call("/api/v1/test", { headers: as(secrets.web) });
      await response.arrayBuffer();
      seen.push(response.status);
    }
  });
  await shop.change({ requestsPerSecond: 1 });
  await until("it holds", () => seen.at(-1) === 429);
  await shop.change({});
  await until("it is gone", () => seen.slice(-50).every((status) => status === 204));
  over = true;
  await Promise.all(clients);
  assert.deepEqual([...new Set(seen)].sort(), [204, 429]);
});
