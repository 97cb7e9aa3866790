import assert from "node:assert/strict";
import { test } from "node:test";
import { startService } from "../../src/app.ts";
import { CannotStart } from "../../src/compose/cannot-start.ts";
import { log } from "../../src/log.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { adminKey, codeOf, login, saidHandlers, viewerKey, visit } from "../support/console.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testKey, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

const keys = { adminKeys: [adminKey], viewerKeys: [viewerKey] };
const browser = { headers: { Accept: "text/html,application/xhtml+xml" }, redirect: "manual" } as const;

/** A whole service of its own, with a second listener that its tests must find. */
async function started(settings: Partial<Settings>) {
  const folder = temporaryFolder();
  const read = readSettings({ flags: {}, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  const place = { host: "127.0.0.1", port: 0, engine: "Q", dataDir: folder.path } as const;
  const given: Settings = { ...read.settings, ...place, apiKeys: [testKey], ...settings };
  const logger = log({ level: "silent", format: "json", write() {} });
  const service = await startService(given, logger, { admin: saidHandlers() }).catch((error) => {
    folder[Symbol.dispose]();
    throw error;
  });
  return {
    service,
    url: `http://127.0.0.1:${service.port}`,
    adminUrl: `http://127.0.0.1:${service.adminPort}`,
    async [Symbol.asyncDispose]() {
      await service.stop(1000);
      folder[Symbol.dispose]();
    },
  };
}

async function startedAndStopped(settings: Partial<Settings>): Promise<void> {
  await using _started = await started(settings);
}

test("a browser at / is shown the console, or the reference where there is none; others hear what they always heard", async () => {
  await using service = await testService(keys);
  const shown = await fetch(`${service.url}/`, browser);
  assert.equal(`${shown.status} ${shown.headers.get("location")}`, "302 console/");
  assert.equal(await codeOf(await fetch(`${service.url}/`)), "404 not_found");
  assert.equal(await codeOf(await fetch(`${service.url}/`, { ...browser, method: "POST" })), "404 not_found");
  const page = await fetch(`${service.url}/console/`, browser);
  assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
  assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);

  await using without = await testService({ ...keys, console: "off" });
  const docs = await fetch(`${without.url}/`, browser);
  assert.equal(`${docs.status} ${docs.headers.get("location")}`, "302 docs");
  for (const path of ["/console/", "/console", "/admin/v1/session"])
    assert.equal(await codeOf(await fetch(`${without.url}${path}`)), "404 not_found", path);
  assert.equal(await codeOf(await login(without.url, { key: adminKey })), "404 not_found");
});

test("a service that nobody may look into says how to get a key, and lets nobody in", async () => {
  await using service = await testService({});
  const page = await fetch(`${service.url}/console/`, browser);
  assert.equal(page.status, 503);
  assert.match(await page.text(), /lazaret keys create/);
  assert.equal(await codeOf(await login(service.url, { key: testKey })), "401 wrong_key");
  assert.equal(await codeOf(await login(service.url, { link: "" })), "401 wrong_link");
});

test("a worker has no console", async () => {
  await using service = await testService({ ...keys, role: "worker" });
  assert.equal(await codeOf(await fetch(`${service.url}/console/`)), "404 not_found");
  assert.equal(await codeOf(await fetch(`${service.url}/admin/v1/session`)), "404 not_found");
});

test("with a listener of its own the console and the metrics are there, and nowhere else", async () => {
  await using two = await started({ ...keys, adminListen: "127.0.0.1:0" });
  const { url, adminUrl } = two;
  assert.notEqual(url, adminUrl);
  for (const path of ["/console/", "/console", "/admin/v1/session", "/admin/v1/jobs", "/metrics", "/metrics/tenants"]) {
    assert.equal(await codeOf(await fetch(`${url}${path}`)), "404 not_found", path);
    const answer = await fetch(`${adminUrl}${path}`, { redirect: "manual" });
    assert.notEqual(answer.status, 404, path);
    await answer.body?.cancel();
  }
  assert.equal(await codeOf(await login(url, { key: adminKey })), "404 not_found");
  for (const path of ["/api/v1/test", "/v1/whoami", "/healthz", "/openapi.json", "/docs", "/version"]) {
    const withKey = { headers: { Authorization: `Bearer ${testKey}` } };
    const answer = await fetch(`${url}${path}`, withKey);
    assert.ok(answer.ok, path);
    // A large page that nobody reads keeps its connection.
    await answer.body?.cancel();
    assert.equal(await codeOf(await fetch(`${adminUrl}${path}`, withKey)), "404 not_found", path);
  }
  const { session, post } = await visit(adminUrl, adminKey);
  assert.equal(session.api_url, url, "where the API is, not where the console is");
  assert.equal((await post("/admin/v1/jobs/1/rescan")).status, 200);
  assert.equal((await fetch(`${adminUrl}/`, browser)).headers.get("location"), "console/");
  assert.equal((await fetch(`${url}/`, browser)).headers.get("location"), "docs");
});

test("keys that could be guessed, or that programs have, do not open the console: the service does not start", async () => {
  const wrong: [Partial<Settings>, RegExp][] = [
    [{ adminKeys: ["short-key"] }, /LAZARET_ADMIN_KEYS: key 1 has fewer than 16 characters/],
    [{ viewerKeys: [viewerKey, "short-key"] }, /LAZARET_VIEWER_KEYS: key 2 has fewer than 16 characters/],
    [{ adminKeys: [adminKey, testKey] }, /LAZARET_ADMIN_KEYS: key 2 is in LAZARET_API_KEYS, too/],
    [{ viewerKeys: [testKey] }, /LAZARET_VIEWER_KEYS: key 1 is in LAZARET_API_KEYS, too/],
    [{ adminKeys: [adminKey], viewerKeys: [adminKey] }, /key 1 is in LAZARET_ADMIN_KEYS, too/],
  ];
  for (const [settings, message] of wrong)
    await assert.rejects(startedAndStopped(settings), (error) => {
      assert.ok(error instanceof CannotStart);
      assert.match(error.message, message);
      assert.ok(!error.message.includes(testKey) && !error.message.includes(adminKey));
      return true;
    });
});

test("keys that are exchanged while it runs hold from then on, and sessions of the old ones end", async () => {
  await using one = await started(keys);
  const { url, service } = one;
  const { call } = await visit(url, adminKey);
  const next = { apiKeys: [testKey], adminKeys: ["another-key-of-the-tests"], viewerKeys: [viewerKey] };
  await assert.rejects(service.changeKeys({ ...next, adminKeys: [testKey] }), /is in LAZARET_API_KEYS, too/);
  assert.equal((await call("/admin/v1/jobs")).status, 200);
  await service.changeKeys(next);
  assert.equal(await codeOf(await call("/admin/v1/jobs")), "401 not_logged_in");
  assert.equal(await codeOf(await login(url, { key: adminKey })), "401 wrong_key");
  await visit(url, "another-key-of-the-tests");
});

test("the stream of events ends when the session of who listens does, and when the service stops", async () => {
  let tell = (): void => {};
  const events = async function* (signal: AbortSignal): AsyncGenerator<string> {
    while (!signal.aborted) {
      yield ": ping\n\n";
      await new Promise<void>((resolve) => {
        tell = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  const admin = {
    ...saidHandlers(),
    adminEvents: async ({ signal }: { signal: AbortSignal }) => ({ status: 200, events: events(signal) }),
  };
  await using service = await testService(keys, {}, { admin });
  const { call, post } = await visit(service.url, viewerKey);
  const response = await call("/admin/v1/events");
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  let over = false;
  const reading = response.text().then(() => {
    over = true;
  });
  tell();
  assert.equal((await post("/admin/v1/logout")).status, 204);
  await until("the stream has ended", () => {
    tell();
    return over;
  });
  await reading;

  const other = await visit(service.url, viewerKey);
  const second = await other.call("/admin/v1/events");
  const [text] = await Promise.all([second.text(), service.service.stop(1000)]);
  assert.match(text, /^(: ping\n\n)*$/);
});
