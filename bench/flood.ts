/**
 * One tenant has thousands of jobs waiting, another has one every second. How long the single ones take from submit to result, beside
 * the same on an idle system: fails when the 95th percentile is more than twice as long.
 *
 *   npm run flood -- [--jobs 50000] [--singles 60] [--platform embedded|postgres|both]
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { testClamd } from "../packages/server/test/support/clamd.ts";
import { fileServer } from "../packages/server/test/support/file-server.ts";
import { temporaryFolder } from "../packages/server/test/support/leftovers.ts";
import { testPostgres } from "../packages/server/test/support/postgres.ts";
import { type TestService, testKey, testService } from "../packages/server/test/support/service.ts";
import { tenantKey } from "../packages/server/test/support/tenant-key.ts";

const MOST = 2;
/** So many requests at once fill the queue. */
const CLIENTS = 32;
const POLL_MS = 5;
const EVERY_MS = 1000;

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "50000" },
    singles: { type: "string", default: "60" },
    platform: { type: "string", default: "both" },
  },
});
const [jobs, singles] = [Number(values.jobs), Number(values.singles)];
if (![jobs, singles].every((number) => Number.isInteger(number) && number > 0)) {
  console.error("flood: jobs and singles are whole numbers");
  process.exit(1);
}

const single = tenantKey("single");
// A file takes this long to come, as files do: the flood is work, and not only a test of the processors.
const FILE_MS = 20;
await using files = await fileServer({
  "/file": (_, response) => void setTimeout(() => response.end("a small file"), FILE_MS),
});
await using clamd = await testClamd();

async function submit(service: TestService, key: string, traceId: string): Promise<void> {
  const response = await service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ download_url: `${files.origin}/file`, trace_id: traceId }),
  });
  await response.arrayBuffer();
  if (response.status >= 300) throw new Error(`a job was answered with ${response.status}`);
}

async function submitToResult(service: TestService, traceId: string): Promise<number> {
  const began = performance.now();
  await submit(service, single.secret, traceId);
  for (;;) {
    const path = `/api/v1/scan/async/result?trace_id=${traceId}`;
    const response = await service.call(path, { headers: { Authorization: `Bearer ${single.secret}` } });
    await response.arrayBuffer();
    if (response.status === 200) return performance.now() - began;
    await pause(POLL_MS);
  }
}

async function oneEverySecond(service: TestService, name: string): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < singles; number += 1) {
    const took = await submitToResult(service, `${name}-${number}`);
    times.push(took);
    await pause(Math.max(0, EVERY_MS - took));
  }
  return times.toSorted((one, other) => one - other);
}

async function fill(service: TestService): Promise<void> {
  let submitted = 0;
  const client = async (): Promise<void> => {
    while (submitted < jobs) {
      submitted += 1;
      await submit(service, testKey, `flood-${submitted}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

const asked = (): number => files.asked.length;
const part = (times: readonly number[], share: number): number => times[Math.floor((times.length - 1) * share)] ?? 0;

async function measure(platform: "embedded" | "postgres"): Promise<boolean> {
  using folder = temporaryFolder();
  await using postgres = platform === "postgres" ? await testPostgres({ durable: true }) : undefined;
  const secretKey = randomBytes(32).toString("hex");
  const settings = {
    clamd: `unix:${clamd.socketPath}`,
    dataDir: folder.path,
    ...(postgres && { platform, postgresUrl: postgres.url, secretKey }),
  };
  const idle: number[] = [];
  {
    await using service = await testService(settings, {}, { tenantKeys: [single] });
    await submitToResult(service, "warm");
    idle.push(...(await oneEverySecond(service, "idle")));
  }
  {
    await using api = await testService({ ...settings, role: "api" });
    await fill(api);
  }
  await using service = await testService(settings, {}, { tenantKeys: [single] });
  await submitToResult(service, "warm-again");
  const before = asked();
  const flooded = await oneEverySecond(service, "flooded");
  const worked = asked() - before - singles;
  const ratio = part(flooded, 0.95) / part(idle, 0.95);
  const line = (times: readonly number[]): string =>
    [0.5, 0.95, 1].map((share) => `${part(times, share).toFixed(0)} ms`).join(", ");
  console.log(`${platform}: idle ${line(idle)}; beside ${jobs} jobs ${line(flooded)} (median, p95, longest)`);
  console.log(`${platform}: p95 × ${ratio.toFixed(2)}; ${worked} jobs of the flood were worked off meanwhile`);
  if (worked >= jobs) console.log(`${platform}: the flood was over before the end: ask for more jobs`);
  return ratio <= MOST && worked < jobs;
}

let held = true;
if (values.platform !== "postgres") held = (await measure("embedded")) && held;
if (values.platform !== "embedded") held = (await measure("postgres")) && held;
process.exitCode = held ? 0 : 1;
