import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { settingsTable } from "../packages/server/src/settings.ts";
import type { Load, LoadResult } from "./load.ts";
import { LAZARET, lineWith, type Measured, peakMb, SHIPPED, start } from "./processes.ts";
import type { RawRequest } from "./raw-clamd.ts";

export interface Service {
  measured: Measured;
  port: number;
}

export interface ServiceOptions {
  engine: "P" | "Q";
  clamdAddress: string;
  dataDir: string;
  /** Entries of the verdict cache. None where engines are compared: the same file is sent again and again. */
  cached?: number;
}

export const pidOf = ({ child }: Measured): number => child.pid ?? 0;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** For the environment of a service; nothing in a version that has no such cache. */
export function verdictCache(entries: number): Record<string, string> {
  return "verdictCache" in settingsTable ? { LAZARET_VERDICT_CACHE: String(entries) } : {};
}

/** Lazaret as users start it, with the gate raised to the 16 at once that are measured. */
export async function startService({ engine, clamdAddress, dataDir, cached = 0 }: ServiceOptions): Promise<Service> {
  const measured = start(process.execPath, [...LAZARET, "serve"], {
    ...SHIPPED,
    LAZARET_API_KEYS: "a-key-for-the-bench",
    LAZARET_ENGINE: engine,
    LAZARET_CLAMD: clamdAddress,
    LAZARET_DATA_DIR: dataDir,
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_CONCURRENCY: "16",
    ...verdictCache(cached),
  });
  const [, port] = await lineWith(measured, /"event":"listening".*"port":(\d+)/);
  measured.ignoreOutput();
  return { measured, port: Number(port) };
}

/** All three set-ups, on one clamd. */
export async function startServices(folder: string, address: string): Promise<Record<ServiceName, Service>> {
  return {
    Q: await startService({ engine: "Q", clamdAddress: address, dataDir: join(folder, "data-q") }),
    "P with clamd": await startService({ engine: "P", clamdAddress: address, dataDir: join(folder, "data-both") }),
    "P alone": await startService({ engine: "P", clamdAddress: "none", dataDir: join(folder, "data-p") }),
  };
}

type ServiceName = "Q" | "P with clamd" | "P alone";

/** Another program of the bench that serves HTTP. */
export async function startProgram(file: string, args: readonly string[]): Promise<Service> {
  return listening(start(process.execPath, [here(file), ...args], { NODE_ENV: "production" }));
}

/** …with the flags of Node and the environment that Lazaret has. */
export async function startFloor(...args: readonly string[]): Promise<Service> {
  return listening(start(process.execPath, [...LAZARET.slice(0, -1), here("floor.ts"), ...args], SHIPPED));
}

async function listening(measured: Measured): Promise<Service> {
  const [, port] = await lineWith(measured, /listening (\d+)/);
  measured.ignoreOutput();
  return { measured, port: Number(port) };
}

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

type Upload = Pick<Load, "body" | "connections" | "forMs">;

/** An upload that must be answered with clean. */
export function binary(port: number, load: Upload): Load {
  return {
    ...load,
    port,
    path: "/api/v1/scan/sync/binary",
    contentType: "application/octet-stream",
    answer: { status: 200, text: '"status":"clean"' },
  };
}

/** The same as a form, as the peer takes it. */
export function form(port: number, file: Buffer, { connections, forMs }: Omit<Upload, "body">): Load {
  const partHead =
    '--b0\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n';
  const body = [Buffer.from(partHead), file, Buffer.from("\r\n--b0--\r\n")];
  const load = binary(port, { body, connections, forMs });
  return { ...load, path: "/scan", contentType: "multipart/form-data; boundary=b0" };
}

export function peak(measured: Measured): string {
  return `${peakMb(pidOf(measured)).toFixed(0)} MB`;
}
