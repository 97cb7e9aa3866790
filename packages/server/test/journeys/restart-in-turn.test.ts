import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { freePort, nginx } from "../support/nginx.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const key = "key-of-the-restarts";
/** Between two calls of one client: a steady trickle, not as fast as it goes. */
const BETWEEN_MS = 100;

/** What docs/upgrade.md tells nginx. */
function nginxLines(ports: readonly number[]): string {
  const page = readFileSync(new URL("../../../../docs/upgrade.md", import.meta.url), "utf8");
  const [, block = ""] = /^```nginx\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const lines = block
    .replace("127.0.0.1:8040", `127.0.0.1:${ports[0]}`)
    .replace("127.0.0.1:8042", `127.0.0.1:${ports[1]}`);
  assert.ok(
    ports.every((port) => lines.includes(String(port))),
    "the page names both services",
  );
  return lines.replace(/listen 443 ssl;[\s\S]*?(?=\n\s*location)/, "listen 127.0.0.1:PORT;");
}

test("two services on one data folder are restarted in turn behind nginx, and no client sees an error or loses a job", async () => {
  using place = temporaryFolder();
  await using files = await fileServer();
  const engine = await anyEngineInEnvironment();
  const ports = [await freePort(), await freePort()];
  const start = async (port: number): Promise<CliRun> => {
    const run = runCli(["serve"], {
      cwd: place.path,
      env: {
        ...engine,
        LAZARET_API_KEYS: key,
        LAZARET_HOST: "127.0.0.1",
        LAZARET_PORT: String(port),
        LAZARET_DATA_DIR: join(place.path, "data"),
        LAZARET_DRAIN_SECONDS: "1",
        LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
      },
    });
    await run.says(/"event":"listening"/);
    return run;
  };
  await using stack = new AsyncDisposableStack();
  const running = await Promise.all(ports.map(start));
  stack.defer(async () => void (await Promise.all(running.map((run) => run[Symbol.asyncDispose]()))));
  await using proxy = await nginx(place.path, nginxLines(ports));
  const call = async (path: string, body?: string, type = "application/json"): Promise<Response> =>
    fetch(`${proxy.url}${path}`, {
      ...(body !== undefined && { method: "POST", body }),
      headers: { Authorization: `Bearer ${key}`, "Content-Type": type },
    });

  const wrong: string[] = [];
  const submitted: string[] = [];
  let calls = 0;
  let steady = true;
  const check = async (what: string, answer: Promise<Response>, wanted: readonly number[]): Promise<void> => {
    calls += 1;
    const status = await answer.then(
      (response) => response.arrayBuffer().then(() => response.status),
      (error: Error) => `${error.message} ${error.cause}`,
    );
    if (!wanted.includes(Number(status))) wrong.push(`${what}: ${status}`);
  };
  const clients: ((turn: number) => Promise<void>)[] = [
    () => check("scan", call("/api/v1/scan/sync/binary", "hello", "application/octet-stream"), [200]),
    async (turn) => {
      const trace_id = `trace-${turn}`;
      const body = JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id });
      await check("submit", call("/api/v1/scan/async/download", body), [201]);
      submitted.push(trace_id);
    },
    (turn) => check("poll", call(`/api/v1/scan/async/result?trace_id=trace-${turn - 20}`), [200, 404]),
  ];
  const atWork = clients.map(async (client) => {
    for (let turn = 0; steady; turn += 1) {
      await client(turn);
      await pause(BETWEEN_MS);
    }
  });

  const restart = async (): Promise<void> => {
    for (const [index, port] of ports.entries()) {
      const before = calls;
      await until("calls go on", () => calls > before + 15);
      assert.equal(await running[index]?.stop(), 0);
      running[index] = await start(port);
    }
    const before = calls;
    await until("calls go on with both", () => calls > before + 15);
  };
  await restart().finally(() => {
    steady = false;
  });
  await Promise.all(atWork);
  assert.deepEqual(wrong, []);
  for (const trace of submitted) {
    await until(
      `${trace} is done`,
      async () => (await call(`/api/v1/scan/async/result?trace_id=${trace}`)).status === 200,
    );
  }
  const stopped = running.map((run) => run.stop());
  assert.deepEqual(await Promise.all(stopped), [0, 0]);
});
