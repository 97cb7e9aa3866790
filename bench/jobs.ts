import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BenchOptions } from "./arguments.ts";
import { type LoadResult, run } from "./load.ts";
import { type Loopback, loopback } from "./loopback.ts";
import { lineWith, type Measured, start } from "./processes.ts";
import { alternate, middle, type Rounds, ratioByCpu, ratios } from "./rounds.ts";
import { sample } from "./sample.ts";
import { type Service, startLazaret, startPeer } from "./services.ts";
import type { Target } from "./targets.ts";

const FILE_BYTES = 4096;
const JOBS_AT_ONCE = 16;
const SUBMITS_AT_ONCE = [1, 16, 64];
const WARM_UP_MS = 4000;
const SUBMITS = { rounds: 9, forMs: 400 };
const JOBS = { warmUp: 1500, rounds: 10, each: 150 };
/** One submit or job of a contestant: the paths differ. */
const PATHS: Readonly<Record<string, string>> = {
  Lazaret: "/api/v1/scan/async/download",
  BullMQ: "/scan/async/download",
};

/** Measures Lazaret's queue, and BullMQ on a Redis that is as durable, with the same work to do. */
export async function measureJobs({ folder, clamd }: BenchOptions): Promise<Target[]> {
  const net = await loopback(sample(FILE_BYTES));
  try {
    const submits = await withBoth(join(folder, "submits"), clamd.socketPath, 0, async (both) => {
      for (const each of both) await submit(each, net, { connections: 16, forMs: WARM_UP_MS });
      const targets: Target[] = [];
      for (const connections of SUBMITS_AT_ONCE) {
        const work = (each: Service) => submit(each, net, { connections, forMs: SUBMITS.forMs });
        const rounds = await alternate(both, { rounds: SUBMITS.rounds, work });
        targets.push(ofBullMq(`submits, ${connections} at once`, 0.8, rounds));
      }
      return targets;
    });
    const jobs = await withBoth(join(folder, "jobs"), clamd.socketPath, JOBS_AT_ONCE, async (both) => {
      for (const each of both) await runJobs(each, net, JOBS.warmUp);
      const work = (each: Service) => runJobs(each, net, JOBS.each);
      const rounds = await alternate(both, { rounds: JOBS.rounds, clamdPid: clamd.pid, work });
      const cpu: Target = {
        work: "one job, CPU of the service",
        values: (rounds.get("Lazaret") ?? []).map(({ cpuMs }) => cpuMs),
        want: { most: 2 },
        unit: `ms (BullMQ ${middle(rounds, "BullMQ", "cpuMs").toFixed(2)})`,
      };
      return [ofBullMq("jobs end to end", 1.1, rounds), cpu];
    });
    return [...jobs, ...submits];
  } finally {
    await net.close();
  }
}

function ofBullMq(work: string, least: number, rounds: Rounds): Target {
  const [values, byCpu] = [ratios(rounds, "Lazaret", "BullMQ"), ratioByCpu(rounds, "Lazaret", "BullMQ")];
  return { work, values, want: { least }, unit: "of BullMQ", byCpu };
}

/** Starts both, and stops them after the work. With 0 jobs at once they take jobs in and run none. */
async function withBoth<T>(
  folder: string,
  clamdSocket: string,
  jobsAtOnce: number,
  work: (both: readonly Service[]) => Promise<T>,
): Promise<T> {
  mkdirSync(folder);
  await using running = new AsyncDisposableStack();
  const lazaret = await startLazaret("Lazaret", {
    LAZARET_ENGINE: "Q",
    LAZARET_CLAMD: `unix:${clamdSocket}`,
    LAZARET_DATA_DIR: join(folder, "lazaret"),
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_ROLE: jobsAtOnce === 0 ? "api" : "all",
    LAZARET_WORKERS: String(jobsAtOnce),
  });
  running.defer(lazaret.stop);
  const socket = join(folder, "redis.sock");
  const redis = await durableRedis(folder, socket);
  const peer = await startPeer("BullMQ", ["bullmq-peer.mjs", socket, clamdSocket, String(jobsAtOnce)], redis);
  running.defer(peer.stop);
  return await work([lazaret, peer]);
}

/** As durable as a job queue must be: each answer leaves after the command is on disk. No snapshots on top. */
async function durableRedis(folder: string, socket: string): Promise<Measured> {
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const redis = start("redis-server", ["--port", "0", "--unixsocket", socket, "--dir", folder, ...durable]);
  await lineWith(redis, /[Rr]eady to accept connections/);
  redis.ignoreOutput();
  return redis;
}

/** Submits jobs, each told apart by its custom_data, and each acknowledged with 204. */
function submit(
  { name, port }: Service,
  { fileUrl, callbackUrl }: Loopback,
  options: { connections: number; forMs?: number; atMost?: number },
): Promise<LoadResult> {
  const { connections, forMs = Number.POSITIVE_INFINITY, atMost = Number.POSITIVE_INFINITY } = options;
  const body = (index: number) =>
    JSON.stringify({ download_url: fileUrl, callback_url: callbackUrl, custom_data: `order ${4711 + index}` });
  return run({
    port,
    path: PATHS[name] ?? "",
    contentType: "application/json",
    body: (index) => [Buffer.from(body(index))],
    answer: { status: 204, text: "" },
    connections,
    forMs,
    atMost,
  });
}

/** From the first submit to the last callback, jobs coming in faster than they are done. */
async function runJobs(service: Service, net: Loopback, jobs: number): Promise<LoadResult> {
  const started = performance.now();
  const all = net.callbacks(jobs);
  await Promise.all([submit(service, net, { connections: 16, atMost: jobs }), all]);
  const seconds = (performance.now() - started) / 1000;
  if (net.repeated > 0) throw new Error(`${service.name} called back ${net.repeated} times too often`);
  return { requests: jobs, seconds, latencies: [] };
}
