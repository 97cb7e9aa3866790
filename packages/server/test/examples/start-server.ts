import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { lazaretCommand } from "../support/lazaret-command.ts";
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
export async function startServer(program: URL, options: StartOptions): Promise<StartedServer> {
  return startCommand([process.execPath, fileURLToPath(program)], options);
}

/** The same of `lazaret` itself. */
export async function startLazaret(options: StartOptions): Promise<StartedServer> {
  return startCommand(lazaretCommand, options);
}

async function startCommand(
  [program, ...first]: readonly [string, ...string[]],
  { args = [], cwd, env }: StartOptions,
): Promise<StartedServer> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_"));
  const child = spawn(program, [...first, ...args], {
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
  await until(`${first.at(-1)} says where it listens`, settled, { limitMs: 120_000 }).catch(async (cause) => {
    await stop();
    throw new Error(`${first.at(-1)} said ${said}`, { cause });
  });
  const origin = address();
  if (origin === undefined) throw new Error(`${first.at(-1)} ended: ${said}`);
  return { origin, said: () => said, [Symbol.asyncDispose]: stop };
}
