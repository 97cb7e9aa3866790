import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cpuSeconds, lineWith, type Measured, peakMb, rssMb, start } from "../processes.ts";
import { ownRedis } from "./redis.ts";

/** One of the two that are compared, running. */
export interface Side {
  name: string;
  port: number;
  /** Takes the same JSON in both. */
  path: string;
  pids: readonly number[];
  /** Of all its processes together, since they started. */
  cpuSeconds(): number;
  rssMb(): number;
  peakMb(): number;
  stop(): Promise<void>;
}

export interface SideOptions {
  /** For what it keeps on disk. */
  folder: string;
  clamdSocket: string;
  /** 0 takes jobs in and runs none. */
  jobsAtOnce: number;
  /** A program, with its arguments, under which the named process runs. */
  under?: (process: string) => readonly string[];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Log lines included: this is how it ships. */
export async function startLazaret({ folder, clamdSocket, jobsAtOnce, under }: SideOptions): Promise<Side> {
  const [program = "", ...args] = [
    ...(under?.("lazaret") ?? []),
    process.execPath,
    here("../../packages/server/bin/lazaret.mjs"),
    "serve",
  ];
  const measured = start(program, args, {
    LAZARET_API_KEYS: "a-key-for-the-bench",
    LAZARET_ENGINE: "Q",
    LAZARET_CLAMD: `unix:${clamdSocket}`,
    LAZARET_DATA_DIR: join(folder, "lazaret"),
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    LAZARET_ROLE: jobsAtOnce === 0 ? "api" : "all",
    LAZARET_WORKERS: String(jobsAtOnce),
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  measured.ignoreOutput();
  return side("Lazaret", [measured], { port: Number(port), path: "/api/v1/scan/async/download" });
}

export async function startPeer({ folder, clamdSocket, jobsAtOnce, under }: SideOptions): Promise<Side> {
  const redis = await ownRedis(join(folder, "redis"), under?.("redis"));
  const [program = "", ...args] = [
    ...(under?.("peer") ?? []),
    process.execPath,
    here("peer.mjs"),
    redis.socketPath,
    clamdSocket,
    String(jobsAtOnce),
  ];
  const measured = start(program, args, { NODE_ENV: "production" });
  const [, port] = await lineWith(measured, /listening (\d+)/);
  measured.ignoreOutput();
  return side("BullMQ", [measured, redis.measured], { port: Number(port), path: "/scan/async/download" });
}

function side(name: string, processes: readonly Measured[], address: { port: number; path: string }): Side {
  const pids = processes.map(({ child }) => child.pid ?? 0);
  const sum = (of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    name,
    ...address,
    pids,
    cpuSeconds: () => sum(cpuSeconds),
    rssMb: () => sum(rssMb),
    peakMb: () => sum(peakMb),
    async stop() {
      for (const process of processes) await process.stop();
    },
  };
}
