import { anyEngineInEnvironment } from "./clamd.ts";
import { runCli } from "./run-cli.ts";

/** `lazaret serve` with two processes on one data folder. */
export interface TwoProcesses extends AsyncDisposable {
  port: number;
  url: string;
  /** The log's lines so far, parsed. */
  readonly lines: Record<string, unknown>[];
}

export async function twoProcesses(folder: string, env: Record<string, string>): Promise<TwoProcesses> {
  const run = runCli(["serve"], {
    cwd: folder,
    env: {
      ...(await anyEngineInEnvironment()),
      LAZARET_API_KEYS: "key-of-the-settings",
      LAZARET_PROCESSES: "2",
      LAZARET_HOST: "127.0.0.1",
      LAZARET_PORT: "0",
      LAZARET_DRAIN_SECONDS: "0",
      LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
      LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
      ...env,
    },
  });
  const [, port] = await run.says(/"event":"listening".*"port":(\d+).*"processes":2/);
  return {
    port: Number(port),
    url: `http://127.0.0.1:${port}`,
    get lines() {
      return run.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    },
    [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
  };
}
