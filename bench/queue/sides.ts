import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LAZARET, lineWith, type Measured, peakMb, rssMb, SHIPPED, start } from "../processes.ts";
import type { Contestant } from "../rounds.ts";
import { startFloor as floorAsLazaret, pidOf, startProgram, verdictCache } from "../services.ts";
import { ownRedis } from "./redis.ts";

/** One of those that are compared, running. */
export interface Side extends Contestant {
  port: number;
  /** Takes the same JSON in all. */
  path: string;
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
  /** Callbacks carry a signature by RSA. */
  signed?: boolean;
  /** A program, with its arguments, under which the named process runs. */
  under?: (process: string) => readonly string[];
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Log lines included: this is how it ships. */
export async function startLazaret(options: SideOptions): Promise<Side> {
  const { folder, clamdSocket, jobsAtOnce, signed = false, under } = options;
  const [program = "", ...args] = [...(under?.("lazaret") ?? []), process.execPath, ...LAZARET, "serve"];
  const measured = start(program, args, {
    ...SHIPPED,
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
    LAZARET_SIGN_CALLBACK_INVOCATIONS: String(signed),
    // Every job has the same file.
    ...verdictCache(0),
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  measured.ignoreOutput();
  return side("Lazaret", [measured], { port: Number(port), path: "/api/v1/scan/async/download" });
}

export async function startPeer(options: SideOptions): Promise<Side> {
  const { folder, clamdSocket, jobsAtOnce, signed = false, under } = options;
  const redis = await ownRedis(join(folder, "redis"), under?.("redis"));
  const [program = "", ...args] = [
    ...(under?.("peer") ?? []),
    process.execPath,
    here("peer.mjs"),
    redis.socketPath,
    clamdSocket,
    String(jobsAtOnce),
    ...(signed ? ["sign"] : []),
  ];
  const measured = start(program, args, { NODE_ENV: "production" });
  const [, port] = await lineWith(measured, /listening (\d+)/);
  measured.ignoreOutput();
  return side("BullMQ", [measured, redis.measured], { port: Number(port), path: "/scan/async/download" });
}

/** What neither can go past: see floor.ts. */
async function startFloor({ folder, clamdSocket, jobsAtOnce, signed = false }: SideOptions): Promise<Side> {
  const place = join(folder, "floor");
  const running = ["jobs", place, `unix:${clamdSocket}`, String(jobsAtOnce), ...(signed ? ["sign"] : [])];
  const { measured, port } = await startProgram("floor.ts", jobsAtOnce === 0 ? ["submit", place] : running);
  return side("floor", [measured], { port, path: "/" });
}

/** What Lazaret cannot go past with the database that it has. It only takes jobs in. */
async function startDatabase({ folder }: SideOptions): Promise<Side> {
  const { measured, port } = await floorAsLazaret("database", join(folder, "database"));
  return side("database", [measured], { port, path: "/" });
}

/** Starts all, and stops them after the work. */
export async function withSides<T>(options: SideOptions, work: (sides: readonly Side[]) => Promise<T>): Promise<T> {
  const all = [startLazaret, startPeer, startFloor, ...(options.jobsAtOnce === 0 ? [startDatabase] : [])];
  const running: Side[] = [];
  try {
    for (const start of all) running.push(await start(options));
    return await work(running);
  } finally {
    for (const side of running) await side.stop();
  }
}

function side(name: string, processes: readonly Measured[], address: { port: number; path: string }): Side {
  const pids = processes.map(pidOf);
  const sum = (of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0);
  return {
    name,
    ...address,
    pids,
    rssMb: () => sum(rssMb),
    peakMb: () => sum(peakMb),
    async stop() {
      for (const process of processes) await process.stop();
    },
  };
}
