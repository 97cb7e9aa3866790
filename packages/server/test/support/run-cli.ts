import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { lazaretCommand } from "./lazaret-command.ts";
import { watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

export interface CliRun extends AsyncDisposable {
  child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Waits until its output matches, and answers the match. */
  says(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The exit code, once it has ended. */
  ended(): Promise<number | null>;
  /** The same, after it was sent the signal: SIGTERM if no other is given. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** What a run that ends by itself has left. */
export interface CliOutcome {
  code: number | null;
  out: string;
  err: string;
}

export interface CliOptions {
  cwd: string;
  env?: Record<string, string>;
  /** For Node, besides ours. */
  flags?: readonly string[];
  /** A folder that is a small disk of its own, seen by this process only; `insideOf` finds it. Linux only. */
  disk?: { path: string; bytes: number };
}

/** A path as the process sees it, from outside. */
export function insideOf(run: CliRun, path: string): string {
  return `/proc/${run.child.pid}/root${path}`;
}

/** Runs the real `lazaret` with nothing of LAZARET_* and OTEL_* in its environment but what is given. */
export function runCli(args: readonly string[], options: CliOptions): CliRun {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:LAZARET|OTEL)_/.test(name)));
  const [node, ...rest] = lazaretCommand;
  const [program = "", ...words] = [...onDisk(options.disk), node, ...(options.flags ?? []), ...rest, ...args];
  const child = spawn(program, words, { cwd: options.cwd, env: { ...env, ...options.env } });
  if (child.pid) watchChild(child.pid);
  const exit = once(child, "close");
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (part) => {
    stdout += part;
  });
  child.stderr?.setEncoding("utf8").on("data", (part) => {
    stderr += part;
  });
  const ended = async (): Promise<number | null> => {
    await exit;
    return child.exitCode;
  };
  return {
    child,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    async says(pattern) {
      const found = (): RegExpMatchArray | null => `${stdout}${stderr}`.match(pattern);
      const says = until(`lazaret says ${pattern}`, () => found() !== null, { limitMs: 60_000 });
      await says.catch((error: Error) => {
        throw new Error(`${error.message}; it said ${stdout}${stderr}`);
      });
      return found() as RegExpMatchArray;
    },
    ended,
    stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended();
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exit;
    },
  };
}

/** Runs it to its end. */
export async function cliOutcome(args: readonly string[], options: CliOptions): Promise<CliOutcome> {
  await using run = runCli(args, options);
  return { code: await run.ended(), out: run.stdout, err: run.stderr };
}

/** What a command is put after to have a small tmpfs that ends with it. Needs no root where namespaces are allowed. */
function onDisk(disk: CliOptions["disk"]): string[] {
  if (!disk) return [];
  const mount = `mount -t tmpfs -o size=${disk.bytes} none "$0" && exec "$@"`;
  return ["unshare", process.getuid?.() === 0 ? "-m" : "-Urm", "sh", "-c", mount, disk.path];
}
