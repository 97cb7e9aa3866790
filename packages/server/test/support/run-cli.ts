import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

const binary = fileURLToPath(new URL("../../bin/lazaret.mjs", import.meta.url));

export interface CliRun extends AsyncDisposable {
  child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Waits until its output matches, and answers the match. */
  says(pattern: RegExp): Promise<RegExpMatchArray>;
  /** The exit code, once it has ended. */
  ended(): Promise<number | null>;
}

export interface CliOptions {
  cwd: string;
  env?: Record<string, string>;
  /** A folder that is a small disk of its own, seen by this process only; `insideOf` finds it. Linux only. */
  disk?: { path: string; bytes: number };
}

/** A path as the process sees it, from outside. */
export function insideOf(run: CliRun, path: string): string {
  return `/proc/${run.child.pid}/root${path}`;
}

/** Runs the real `lazaret` with nothing of LAZARET_* in its environment but what is given. */
export function runCli(args: readonly string[], options: CliOptions): CliRun {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_")));
  const [program = "", ...words] = [...onDisk(options.disk), process.execPath, binary, ...args];
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
      await until(`lazaret says ${pattern}; it said ${stdout}${stderr}`, () => found() !== null, { limitMs: 60_000 });
      return found() as RegExpMatchArray;
    },
    async ended() {
      await exit;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exit;
    },
  };
}

/** What a command is put after to have a small tmpfs that ends with it. Needs no root where namespaces are allowed. */
function onDisk(disk: CliOptions["disk"]): string[] {
  if (!disk) return [];
  const mount = `mount -t tmpfs -o size=${disk.bytes} none "$0" && exec "$@"`;
  return ["unshare", process.getuid?.() === 0 ? "-m" : "-Urm", "sh", "-c", mount, disk.path];
}
