import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder, watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

export const prometheusFolder: string = fileURLToPath(new URL("../../../../deploy/prometheus", import.meta.url));

export interface TestPrometheus extends AsyncDisposable {
  readonly url: string;
  /** The value of each series of an expression, now. */
  values(expression: string): Promise<{ labels: Record<string, string>; value: number }[]>;
  /** What it answers under /api/v1. */
  ask<Answer>(path: string, query?: Record<string, string>): Promise<Answer>;
}

/** A real Prometheus with our own configuration, but for the address of the service and how often it is asked. */
export async function testPrometheus(target: string, everySeconds = 1): Promise<TestPrometheus> {
  const folder = temporaryFolder();
  const config = readFileSync(join(prometheusFolder, "prometheus.yml"), "utf8")
    .replaceAll(/(scrape|evaluation)_interval: 15s/g, `$1_interval: ${everySeconds}s`)
    .replace('"127.0.0.1:8040"', JSON.stringify(target));
  mkdirSync(folder.path, { recursive: true });
  writeFileSync(join(folder.path, "prometheus.yml"), config);
  writeFileSync(join(folder.path, "alerts.yml"), readFileSync(join(prometheusFolder, "alerts.yml")));
  const port = await freePort();
  const child = spawn(
    "prometheus",
    [
      `--config.file=${join(folder.path, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder.path, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, GOMAXPROCS: "1" } },
  );
  watchChild(child.pid ?? 0);
  const gone = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  await until("Prometheus is ready", async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`);
    return await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });

  async function ask<Answer>(path: string, query: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(query)}`);
    const answer = (await response.json()) as { status: string; data: Answer; error?: string };
    if (answer.status !== "success") throw new Error(`${answer.error}: ${query.query ?? path}`);
    return answer.data;
  }
  return {
    url,
    ask,
    async values(query) {
      type Result = { result: { metric: Record<string, string>; value: [number, string] }[] };
      const { result } = await ask<Result>("query", { query });
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await gone;
      folder[Symbol.dispose]();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
