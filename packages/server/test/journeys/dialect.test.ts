import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { join } from "node:path";
import { before, test } from "node:test";
import { bucketsIn } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testKey, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const buckets = bucketsIn(join(folder.path, "buckets"));
const clock = toldClock();
let files: FileServer;
let service: TestService;
before(async () => {
  files = await fileServer();
  const settings = { ...(await anyEngine()), allowHttpCallbacks: true, signCallbackInvocations: true };
  const folders = { dataDir: join(folder.path, "data"), bucketsDir: buckets.path };
  service = await testService({ ...settings, ...folders, monthlyQuota: 5000 }, {}, clock);
});
atTheEnd(async () => {
  await service[Symbol.asyncDispose]();
  await files[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const ask = (path: string, headers: Record<string, string>, body?: object): Promise<Response> =>
  fetch(`${service.url}${path}`, {
    method: body ? "POST" : "GET",
    headers: { ...headers, "Content-Type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
const withKey = { "x-api-key": testKey };

async function json(path: string): Promise<Record<string, unknown>> {
  const response = await ask(path, withKey);
  assert.equal(response.status, 200);
  return (await response.json()) as Record<string, unknown>;
}

test("the key is taken from x-api-key too; either valid is enough, and neither is not", async () => {
  const wrong = { Authorization: "Bearer wrong-key" };
  assert.equal((await ask("/v1/test", withKey)).status, 204);
  assert.equal((await ask("/api/v1/test", withKey)).status, 204);
  assert.equal((await ask("/v1/test", { ...wrong, ...withKey })).status, 204);
  assert.equal((await ask("/v1/test", { Authorization: `Bearer ${testKey}`, "x-api-key": "wrong-key" })).status, 204);
  for (const headers of [wrong, { "x-api-key": "wrong-key" }, { "x-api-key": "" }, {}]) {
    assert.equal((await ask("/v1/test", headers)).status, 401);
  }
});

test("/v1 is another name of /api/v1, s3 of objstore, and slashes are collapsed", async () => {
  buckets.put("uploads", "bad.txt", eicar());
  for (const path of ["/v1/scan/sync/s3", "/api/v1/scan/sync/s3", "/v1/scan/sync/objstore", "/v1//scan/sync//s3"]) {
    const response = await ask(path, withKey, { bucket: "uploads", key: "bad.txt" });
    assert.deepEqual(
      [response.status, ((await response.json()) as { status: string }).status],
      [200, "infected"],
      path,
    );
  }
  const submitted = await ask("/v1/scan/async/s3", withKey, { bucket: "uploads", key: "bad.txt", trace_id: "a b" });
  assert.equal(submitted.status, 201);
  const location = submitted.headers.get("location") ?? "";
  assert.equal(location, "/v1/scan/async/result?trace_id=a%20b");
  await until("the result is there", async () => (await ask(location, withKey)).status === 200);
});

test("the installation has an id that stays, and tells what is left of its quota, never less than nothing", async () => {
  const { tenantId } = await json("/v1/whoami");
  assert.match(String(tenantId), /^[0-9a-f-]{36}$/);
  const before = await json("/v1/usage");
  assert.deepEqual(before.quota, { limit: 5000, period: "MONTH" });
  await service.scan("one more file");
  assert.ok(Number(before.credits) <= 5000 && Number(before.credits) > 4900, `${before.credits} are left of 5000`);
  // Who answers may hear a moment later what another process counts.
  const left = Number(before.credits) - 1;
  await until("it is counted", async () => (await json("/v1/usage")).credits === left);

  using other = temporaryFolder();
  const ids: unknown[] = [];
  for (let start = 0; start < 3; start += 1) {
    await using restarted = await testService({
      ...(await anyEngine()),
      dataDir: other.path,
      monthlyQuota: 2,
    });
    ids.push(await (await restarted.call("/v1/whoami")).json());
    await restarted.scan("a file");
    await until("scans count, those before the restart too", async () => {
      const usage = (await (await restarted.call("/v1/usage")).json()) as { credits: number };
      return usage.credits === Math.max(0, 2 - (start + 1));
    });
  }
  assert.deepEqual(ids[0], ids[1]);
  assert.notDeepEqual(ids[0], { tenantId });
});

test("callbacks of jobs submitted under /v1 are signed over the tenant's id as well, others as the spec says", async () => {
  await using receiver = await callbackReceiver(answering(204));
  const publicKey = await (await fetch(`${service.url}/.well-known/lazaret/callback-key.pem`)).text();
  const { tenantId } = await json("/v1/whoami");
  const url = `${receiver.origin}/done?x=1`;
  for (const [path, signed] of [
    ["/v1/scan/async/download", `${tenantId}.${url}`],
    ["/api/v1/scan/async/download", url],
  ] as const) {
    const received = receiver.requests.length;
    const body = { download_url: `${files.origin}/clean`, callback_url: url };
    assert.equal((await ask(path, withKey, body)).status, 204);
    await until("the callback is there", () => receiver.requests.length > received);
    const callback = receiver.requests[received];
    const [signature = "", timestamp = ""] = ["x-signature", "x-timestamp"].map(
      (name) => callback?.values(name)[0] ?? "",
    );
    const text = Buffer.concat([Buffer.from(`${timestamp}.${signed}.`), callback?.body ?? Buffer.alloc(0)]);
    assert.ok(verify("sha256", text, publicKey, Buffer.from(signature, "hex")), path);
  }
});

test("callbacks that finally failed are listed for 30 days, newest first, page by page, by URL, without their queries", async () => {
  await using receiver = await callbackReceiver(answering(500));
  const urls = [`${receiver.origin}/one`, `${receiver.origin}/two?x=1`];
  for (const callback_url of urls) {
    const failedRuns = (): unknown[] =>
      service.lines.filter(({ event, settlement }) => event === "job" && settlement !== "done");
    const before = failedRuns().length;
    await ask("/v1/scan/async/download", withKey, { download_url: `${files.origin}/clean?secret=1`, callback_url });
    for (const invocations of [1, 2, 3, 4]) {
      await until(`invocation ${invocations} is over`, () => failedRuns().length === before + invocations);
      clock.advance(60);
    }
  }
  const all = (await json("/v1/callback/failures")) as { failures: Record<string, string>[] };
  assert.deepEqual(
    all.failures.map(({ callback_url }) => callback_url),
    [`${receiver.origin}/two`, `${receiver.origin}/one`],
  );
  const [newest] = all.failures;
  assert.equal(newest?.download_url, `${files.origin}/clean`);
  assert.match(newest?.time ?? "", /^\d{4}-.*Z$/);
  const error = JSON.parse(newest?.error_json ?? "") as { code: string; metadata: object };
  assert.equal(error.code, "HTTP_500");
  const one = await json(`/v1/callback/failures?callback_url=${encodeURIComponent(urls[0] ?? "")}`);
  assert.deepEqual(one, { failures: all.failures.slice(1) });
  for (const url of [urls[1] ?? "", `${receiver.origin}/two`]) {
    const two = await json(`/v1/callback/failures?callback_url=${encodeURIComponent(url)}`);
    assert.deepEqual(two, { failures: all.failures.slice(0, 1) });
  }
  assert.equal((await ask("/v1/callback/failures?cursor=nonsense", withKey)).status, 400);
  clock.advance(30 * 86_400);
  await until("none is listed", async () => {
    const { failures } = (await json("/v1/callback/failures")) as { failures: unknown[] };
    return failures.length === 0;
  });
});
