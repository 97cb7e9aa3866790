import { readFileSync } from "node:fs";
import { watchChild } from "./leftovers.ts";
import { type CliRun, runCli } from "./run-cli.ts";

export const processesKey = "production-key-canary";

export interface Processes extends AsyncDisposable {
  run: CliRun;
  port: number;
  url: string;
  /** Their numbers now, in no order. */
  pids(): number[];
  scan(given?: string, signal?: AbortSignal | null): Promise<Response>;
  lines(event: string): Record<string, unknown>[];
}

/** `lazaret serve` with three processes on any free port. */
export async function threeProcesses(folder: string, env: Record<string, string>): Promise<Processes> {
  const run = runCli(["serve"], { cwd: folder, env: { ...threeOnAnyPort, ...env } });
  const [, port] = await run.says(/"event":"listening".*"port":(\d+).*"processes":3/);
  const url = `http://127.0.0.1:${port}`;
  const pids = (): number[] => childrenOf(run.child.pid ?? 0);
  for (const pid of pids()) watchChild(pid);
  return {
    run,
    port: Number(port),
    url,
    pids,
    scan: (given = processesKey, signal = null) =>
      fetch(`${url}/api/v1/scan/sync/binary`, {
        method: "POST",
        // A connection for each, so that each process has some.
        headers: {
          Authorization: `Bearer ${given}`,
          "Content-Type": "application/octet-stream",
          Connection: "close",
        },
        body: "hello",
        signal,
      }),
    lines: (event) => linesOf(run).filter((line) => line.event === event),
    [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
  };
}

export const threeOnAnyPort = {
  LAZARET_API_KEYS: processesKey,
  LAZARET_HOST: "127.0.0.1",
  LAZARET_PORT: "0",
  LAZARET_DRAIN_SECONDS: "0",
  LAZARET_PROCESSES: "3",
  LAZARET_SIGN_CALLBACK_INVOCATIONS: "true",
};

/** Every line must be JSON. */
function linesOf({ stdout }: CliRun): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

export function childrenOf(pid: number): number[] {
  const threads = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return threads.split(" ").filter(Boolean).map(Number);
}

/** The sum of all values whose names and labels begin like this. */
export function metricIn(text: string, name: string): number {
  const values = text.split("\n").filter((line) => line.startsWith(name));
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}
