import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Limits } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { type JobStore, openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type TwoProcesses, twoProcesses } from "../support/two-processes.ts";
import { until } from "../support/until.ts";

interface Answer {
  status: number;
  body: string;
}

/** Asks one of the processes, over a connection that is kept. */
type AskOne = (path: string, body?: string) => Promise<Answer>;

interface Limited extends AsyncDisposable {
  store: JobStore;
  keyId: string;
  /** One for each process. */
  both: readonly [AskOne, AskOne];
}

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
  const service = undo.use(await twoProcesses(folder, { LAZARET_DATA_DIR: dataDir }));
  const both = await oneOfEach(service, secret, undo);
  const all = undo.move();
  return { store, keyId: id, both, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** The supervisor hands out connections: they are opened until each process has one. */
async function oneOfEach(
  service: TwoProcesses,
  secret: string,
  undo: AsyncDisposableStack,
): Promise<readonly [AskOne, AskOne]> {
  const found = new Map<unknown, AskOne>();
  for (let tries = 0; tries < 50 && found.size < 2; tries += 1) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    undo.defer(() => agent.destroy());
    const id = `connection-${tries}`;
    const ask: AskOne = async (path, body) => {
      const sent = request({
        port: service.port,
        host: "127.0.0.1",
        path,
        agent,
        method: body === undefined ? "GET" : "POST",
        headers: {
          Authorization: `Bearer ${secret}`,
          "X-Request-Id": id,
          ...(body !== undefined && { "Content-Type": "application/octet-stream" }),
        },
      });
      sent.end(body);
      const [response] = await once(sent, "response");
      return { status: response.statusCode, body: await text(response) };
    };
    // Needs no key, and so counts for no limit.
    assert.equal((await ask("/version")).status, 200);
    const line = (): unknown => service.lines.find(({ request_id }) => request_id === id)?.process;
    await until("the log says which process it was", () => line() !== undefined);
    if (!found.has(line())) found.set(line(), ask);
  }
  const [one, other] = [...found.values()];
  assert.ok(one && other, "both processes have a connection");
  return [one, other];
}

test("what two processes let through together keeps to the rate and what is documented beyond it; a revoked key is refused by both", async () => {
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
  // docs/limits.md: a second's worth at once, and 5 for the other process. By themselves they would pass twice as many.
  const most = perSecond * (elapsed() + 1 + 5);
  assert.ok(together <= most, `${passed} in ${elapsed()} s, and ${most} are allowed`);
  assert.ok(Math.min(...passed) > 0, `${passed}`);

  await shop.store.access.removeKey(shop.keyId);
  for (const ask of shop.both)
    await until("the key is refused", async () => (await ask("/api/v1/test")).status === 401);
});

test("files that one process accepted are counted by the other", async () => {
  await using shop = await limited({ filesPerMonth: 3 });
  const [one, other] = shop.both;
  const scan = (ask: AskOne): Promise<Answer> => ask("/api/v1/scan/sync/binary", "a clean file");
  for (let count = 0; count < 3; count += 1) assert.equal((await scan(one)).status, 200);
  assert.equal((await scan(one)).status, 429);
  const left = async (): Promise<number> => JSON.parse((await other("/v1/usage")).body).credits;
  await until("the other process knows", async () => (await left()) === 0);
  const refused = await scan(other);
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], [429, "monthly_files"]);
});
