import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Limits } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { type JobStore, openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { adminKey, codeOf, login, visit } from "../support/console.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome } from "../support/run-cli.ts";
import { type ServedService, twoServices } from "../support/two-services.ts";
import { until } from "../support/until.ts";

/** Two units on one data folder, as behind a proxy: nothing is lost, nothing is done twice, and who is let in is let in by both. */

const flat = "key-of-the-settings";

async function submit({ url }: ServedService, body: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${url}/api/v1/scan/async/download`, {
    method: "POST",
    headers: { Authorization: `Bearer ${flat}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, await response.text());
}

async function finished(dataDir: string): Promise<(string | undefined)[]> {
  const store = await openJobStore(dataDir);
  try {
    const page = await store.history.list({ limit: 500 });
    return page?.entries.map(({ job }) => job?.traceId) ?? [];
  } finally {
    await store.close();
  }
}

test("100 jobs are submitted to both, one is killed with kill -9, and every job has exactly one result", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  const held: ServerResponse[] = [];
  let isKilled = false;
  await using files = await fileServer({
    // Until one is killed, so that it has jobs under way.
    "/held": (_, response) => void (isKilled ? response.end(eicar()) : held.push(response)),
  });
  await using services = await twoServices(folder.path, { LAZARET_DATA_DIR: dataDir });
  const [victim, survivor] = services.both;
  const names = Array.from({ length: 100 }, (_, number) => `trace-${number}`);
  await Promise.all(
    names.map((trace_id, number) =>
      submit(number % 2 === 0 ? victim : survivor, { download_url: `${files.origin}/held`, trace_id }),
    ),
  );
  await until("both have jobs under way", () => held.length >= 8);
  victim.run.child.kill("SIGKILL");
  await victim.run.ended();
  isKilled = true;
  for (const response of held) response.end(eicar());

  const poll = (trace: string): Promise<Response> =>
    fetch(`${survivor.url}/api/v1/scan/async/result?trace_id=${trace}`, {
      headers: { Authorization: `Bearer ${flat}` },
    });
  for (const name of names) {
    // The jobs of the dead one are free when its leases run out.
    await until(`${name} is done`, async () => (await poll(name)).status === 200, { limitMs: 90_000 });
    assert.match(await (await poll(name)).text(), /"status":"infected"/);
  }
  const done = survivor.lines.filter(({ event, settlement }) => event === "job" && settlement === "done");
  assert.ok(done.length >= 90, `${done.length}`);
  assert.deepEqual((await finished(dataDir)).toSorted(), names.toSorted());
  assert.equal(await survivor.run.stop(), 0);
  const store = await openJobStore(dataDir);
  const { ready, leased, delayed, buried } = await store.queue.counts();
  await store.close();
  assert.deepEqual([ready, leased, delayed, buried], [0, 0, 0, 0]);
});

test("while both live every job is run, called back and announced once, whichever took it", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(204));
  await using subscriber = await callbackReceiver(answering(200));
  await using services = await twoServices(folder.path, {
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_REPORT_EVENT_BUS: "true",
    LAZARET_EVENT_TARGETS: JSON.stringify([{ protocol: "http", endpoint: `${subscriber.origin}/events` }]),
  });
  const { both } = services;
  const names = Array.from({ length: 60 }, (_, number) => `trace-${number}`);
  await Promise.all(
    names.map((trace_id, number) =>
      submit(both[number % 2] ?? both[0], {
        download_url: `${files.origin}/eicar`,
        trace_id,
        callback_url: `${receiver.origin}/done`,
      }),
    ),
  );
  const calledBack = (): string[] => receiver.requests.map(({ body }) => JSON.parse(String(body)).trace_id);
  await until("all are called back", () => calledBack().length >= names.length);
  await until("all are announced", () => subscriber.requests.length >= names.length);
  for (const { lines } of both)
    assert.ok(
      lines.some(({ event }) => event === "job"),
      "both have run some",
    );
  for (const { run } of both) assert.equal(await run.stop(), 0);
  assert.deepEqual(calledBack().toSorted(), names.toSorted());
  assert.equal(subscriber.requests.length, names.length);
  assert.equal(files.asked.length, names.length);
});

test("a session of the console opens both until its key is revoked, which both see", async () => {
  using folder = temporaryFolder();
  const place = { cwd: folder.path, env: {} };
  const { out: secret } = await cliOutcome(["keys", "create", "--name", "ops", "--scope", "admin"], place);
  await using services = await twoServices(folder.path, { LAZARET_ADMIN_KEYS: adminKey });
  const [one, other] = services.both;
  const status = async ({ url }: ServedService, cookie: string): Promise<number> =>
    (await fetch(`${url}/admin/v1/session`, { headers: { Cookie: cookie } })).status;
  const { cookie } = await visit(one.url, adminKey);
  const made = await visit(other.url, secret.trim());
  assert.deepEqual([await status(one, cookie), await status(other, cookie)], [200, 200]);
  assert.deepEqual([await status(one, made.cookie), await status(other, made.cookie)], [200, 200]);
  // The page's token is good for both, too.
  const act = await fetch(`${one.url}/admin/v1/engines/self-test`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Cookie: made.cookie,
      Origin: one.url,
      "X-Lazaret-CSRF": made.session.csrf,
    },
    body: "{}",
  });
  assert.equal(act.status, 200, await act.text());
  assert.equal((await cliOutcome(["keys", "revoke", "default/ops"], place)).code, 0);
  for (const service of services.both) {
    await until("its session has ended", async () => (await status(service, made.cookie)) === 401);
    assert.equal(await codeOf(await login(service.url, { key: secret.trim() })), "401 wrong_key");
    assert.equal(await status(service, cookie), 200);
  }
});

interface Limited extends AsyncDisposable {
  store: JobStore;
  both: readonly AskOne[];
}

/** Asks one of the services. */
type AskOne = (path: string, body?: string) => Promise<{ status: number; body: string }>;

async function limited(limits: Limits): Promise<Limited> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(temporaryFolder()).path;
  const dataDir = join(folder, "data");
  const store = await openJobStore(dataDir);
  undo.defer(() => store.close());
  const { id, digest, secret } = newSecret();
  await store.access.putTenant({ name: "shop", weight: 1, limits }, undefined);
  const key = { id, digest, name: "web", tenant: "shop", madeAt: 0, limits: {} };
  await store.access.addKey({ ...key, scopes: ["scan", "read"] });
  const services = undo.use(await twoServices(folder, { LAZARET_DATA_DIR: dataDir }));
  const both = services.both.map(
    ({ url }): AskOne =>
      async (path, body) => {
        const response = await fetch(`${url}${path}`, {
          ...(body !== undefined && { method: "POST", body }),
          headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/octet-stream" },
        });
        return { status: response.status, body: await response.text() };
      },
  );
  const all = undo.move();
  return { store, both, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

test("what both let through together keeps to the rate, and what is documented beyond it", async () => {
  const [perSecond, seconds] = [10, 12];
  await using shop = await limited({ requestsPerSecond: perSecond });
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1000;
  const passed = await Promise.all(
    shop.both.map(async (ask) => {
      let count = 0;
      while (elapsed() < seconds) {
        const { status } = await ask("/api/v1/test");
        assert.ok([204, 429].includes(status), `${status}`);
        if (status === 204) count += 1;
        await pause(25);
      }
      return count;
    }),
  );
  const together = passed.reduce((sum, count) => sum + count, 0);
  // docs/limits.md: a second's worth at once, and 5 for the other service. By themselves they would pass twice as many.
  const most = perSecond * (elapsed() + 1 + 5);
  assert.ok(together <= most, `${passed} in ${elapsed()} s, and ${most} are allowed`);
  assert.ok(Math.min(...passed) > 0, `${passed}`);
});

test("files that one accepted are counted by the other", async () => {
  await using shop = await limited({ filesPerMonth: 3 });
  const [one, other] = shop.both;
  assert.ok(one && other);
  const scan = (ask: AskOne): ReturnType<AskOne> => ask("/api/v1/scan/sync/binary", "a clean file");
  for (let count = 0; count < 3; count += 1) assert.equal((await scan(one)).status, 200);
  assert.equal((await scan(one)).status, 429);
  const left = async (): Promise<number> => JSON.parse((await other("/v1/usage")).body).credits;
  await until("the other knows", async () => (await left()) === 0);
  const refused = await scan(other);
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], [429, "monthly_files"]);
});
