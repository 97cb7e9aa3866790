import { anyEngineInEnvironment } from "./clamd.ts";
import { type CliRun, runCli } from "./run-cli.ts";

/** `lazaret serve` on any free port. */
export interface ServedService {
  run: CliRun;
  port: number;
  url: string;
  /** The log's lines so far, parsed. */
  readonly lines: Record<string, unknown>[];
}

/** Two of them on one data folder, as two units of lazaret@.service are. */
export interface TwoServices extends AsyncDisposable {
  both: readonly [ServedService, ServedService];
}

export async function twoServices(folder: string, env: Record<string, string>): Promise<TwoServices> {
  await using undo = new AsyncDisposableStack();
  const given = {
    ...(await anyEngineInEnvironment()),
    LAZARET_API_KEYS: "key-of-the-settings",
    LAZARET_HOST: "127.0.0.1",
    LAZARET_PORT: "0",
    LAZARET_DRAIN_SECONDS: "0",
    LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
    LAZARET_ALLOW_CALLBACK_NETWORKS: "127.0.0.0/8",
    ...env,
  };
  const start = async (): Promise<ServedService> => {
    const run = undo.use(runCli(["serve"], { cwd: folder, env: given }));
    const [, port] = await run.says(/"event":"listening".*"port":(\d+)/);
    return {
      run,
      port: Number(port),
      url: `http://127.0.0.1:${port}`,
      get lines() {
        const whole = run.stdout.split("\n").slice(0, -1);
        return whole.map((line) => JSON.parse(line));
      },
    };
  };
  // At the same moment: both find an empty folder.
  const both = await Promise.all([start(), start()]);
  const all = undo.move();
  return { both, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
