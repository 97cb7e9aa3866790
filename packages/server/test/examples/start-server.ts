import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "../support/leftovers.ts";
import { until } from "../support/until.ts";

export interface StartedServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`, as it said itself. */
  origin: string;
  /** All that it wrote so far. */
  said(): string;
}

export interface StartOptions {
  args?: readonly string[];
  /** The examples keep their files in the `data` folder of this one. */
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** Where the examples lie. */
export const examplesFolder = new URL("../../../../examples/", import.meta.url);

/**
 * For requests of tests: a connection of its own for each. One that is kept may be closed by its server, after 5 idle
 * seconds, just when a busy machine comes to using it again.
 */
export const alone = { Connection: "close" } as const;

/** Starts a program that listens, an example on a free port, and waits until it has said where. */
export async function startServer(program: URL, { args = [], cwd, env }: StartOptions): Promise<StartedServer> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_"));
  const child = spawn(process.execPath, [fileURLToPath(program), ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (child.pid) watchChild(child.pid);
  const ended = once(child, "close");
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part) => {
      said += part;
    });
  }
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  // With what comes after it: the number may have come by halves.
  const address = (): string | undefined => /(http:\/\/127\.0\.0\.1:\d+)\D/.exec(said)?.[1];
  const settled = (): boolean => address() !== undefined || child.exitCode !== null;
  await until(`${program.pathname} says where it listens`, settled, { limitMs: 120_000 }).catch(async (cause) => {
    await stop();
    throw new Error(`${program.pathname} said ${said}`, { cause });
  });
  const origin = address();
  if (origin === undefined) throw new Error(`${program.pathname} ended: ${said}`);
  return { origin, said: () => said, [Symbol.asyncDispose]: stop };
}
