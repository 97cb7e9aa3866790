import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "./load.ts";
import { cpuSeconds, lineWith, type Measured, peakMb, start } from "./processes.ts";
import type { RawRequest } from "./raw-clamd.ts";

export interface Service {
  measured: Measured;
  port: number;
}

export interface Row extends LoadResult {
  /** CPU of the process that was measured. */
  cpuMs: number;
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Lazaret as users start it, with the gate raised to the 16 at once that are measured. */
async function startService(engine: "P" | "Q", clamdAddress: string, dataDir: string): Promise<Service> {
  const measured = start(process.execPath, [here("../packages/server/bin/lazaret.mjs"), "serve"], {
    LAZARET_API_KEYS: "a-key-for-the-bench",
    LAZARET_ENGINE: engine,
    LAZARET_CLAMD: clamdAddress,
    LAZARET_DATA_DIR: dataDir,
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_CONCURRENCY: "16",
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  return { measured, port: Number(port) };
}

/** All three set-ups, on one clamd. */
export async function startServices(folder: string, address: string): Promise<Record<ServiceName, Service>> {
  return {
    Q: await startService("Q", address, join(folder, "data-q")),
    "P with clamd": await startService("P", address, join(folder, "data-both")),
    "P alone": await startService("P", "none", join(folder, "data-p")),
  };
}

type ServiceName = "Q" | "P with clamd" | "P alone";

export function startRaw(clamdAddress: string): Measured {
  return start(process.execPath, [here("raw-clamd.ts"), clamdAddress]);
}

/** Throws when it ended instead of answering; why stands in what it wrote to standard error. */
export async function askRaw(raw: Measured, request: RawRequest): Promise<LoadResult> {
  const answer = new Promise<string>((resolve, reject) => {
    const ended = (): void => reject(new Error("the client of raw clamd ended"));
    raw.child.once("exit", ended);
    raw.lines.once("line", (line) => {
      raw.child.off("exit", ended);
      resolve(line);
    });
  });
  raw.child.stdin?.write(`${JSON.stringify(request)}\n`);
  return JSON.parse(await answer);
}

/** An upload that must be answered with clean. */
export function binary(port: number, load: Pick<Load, "body" | "connections" | "forMs">): Load {
  return {
    ...load,
    port,
    path: "/api/v1/scan/sync/binary",
    contentType: "application/octet-stream",
    answer: /^HTTP\/1\.1 200 .*"status":"clean"/s,
  };
}

export async function measure(measured: Measured, work: () => Promise<LoadResult>): Promise<Row> {
  const pid = measured.child.pid ?? 0;
  const before = cpuSeconds(pid);
  const result = await work();
  return { ...result, cpuMs: ((cpuSeconds(pid) - before) * 1000) / result.requests };
}

export function peak(measured: Measured): string {
  return `${peakMb(measured.child.pid ?? 0).toFixed(0)} MB`;
}
