import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "./load.ts";
import { LAZARET, lineWith, type Measured, peakMb, SHIPPED, start } from "./processes.ts";
import type { RawRequest } from "./raw-clamd.ts";
import type { Contestant } from "./rounds.ts";

/** A program that serves HTTP, and those that belong to it, under measurement. */
export interface Service extends Contestant {
  port: number;
  peakMb(): number;
  stop(): Promise<void>;
}

export const pidOf = ({ child }: Measured): number => child.pid ?? 0;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Starts Lazaret as users do, log lines included, without verdict cache: the same file is sent again and again. */
export function startLazaret(name: string, env: Record<string, string>): Promise<Service> {
  const measured = start(process.execPath, [...LAZARET, "serve"], {
    ...SHIPPED,
    LAZARET_API_KEYS: "a-key-for-the-bench",
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_VERDICT_CACHE: "0",
    ...env,
  });
  return serving(name, [measured], /"event":"listening".*"port":(\d+)/);
}

/** Starts another program of the bench. `store` is stopped with it. */
export function startPeer(name: string, [file, ...args]: [string, ...string[]], store?: Measured): Promise<Service> {
  const measured = start(process.execPath, [here(file), ...args], { NODE_ENV: "production" });
  return serving(name, [measured, ...(store ? [store] : [])], /listening (\d+)/);
}

async function serving(name: string, all: [Measured, ...Measured[]], ready: RegExp): Promise<Service> {
  const [, port] = await lineWith(all[0], ready);
  all[0].ignoreOutput();
  const pids = all.map(pidOf);
  return {
    name,
    pids,
    port: Number(port),
    peakMb: () => pids.reduce((sum, pid) => sum + peakMb(pid), 0),
    async stop() {
      for (const each of all) await each.stop();
    },
  };
}

/** Our clamd client without HTTP, in a process of its own. */
export interface RawClamd extends Contestant {
  ask(request: RawRequest): Promise<LoadResult>;
  stop(): void;
}

export function startRawClamd(clamdAddress: string): RawClamd {
  const { child, lines, ...measured } = start(process.execPath, [here("raw-clamd.ts"), clamdAddress]);
  return {
    name: "raw clamd",
    pids: [pidOf({ child, lines, ...measured })],
    /** Throws when it ended instead of answering; why stands in what it wrote to standard error. */
    ask(request) {
      return new Promise((resolve, reject) => {
        const ended = (): void => reject(new Error("the client of raw clamd ended"));
        child.once("exit", ended);
        lines.once("line", (line) => {
          child.off("exit", ended);
          resolve(JSON.parse(line));
        });
        child.stdin?.write(`${JSON.stringify(request)}\n`);
      });
    },
    stop: () => void child.stdin?.end(),
  };
}

/** An upload that must be answered with clean. */
export function upload(port: number, load: Pick<Load, "body" | "connections" | "forMs">): Load {
  return {
    ...load,
    port,
    path: "/api/v1/scan/sync/binary",
    contentType: "application/octet-stream",
    answer: { status: 200, text: '"status":"clean"' },
  };
}

const FORM_HEAD =
  '--b0\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n';

/** The same as a form, as the peer takes it. */
export function formUpload(port: number, file: Buffer, load: Pick<Load, "connections" | "forMs">): Load {
  const body = [Buffer.from(FORM_HEAD), file, Buffer.from("\r\n--b0--\r\n")];
  return { ...upload(port, { ...load, body }), path: "/scan", contentType: "multipart/form-data; boundary=b0" };
}
