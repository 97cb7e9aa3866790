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

/** Runs the real `lazaret` with nothing of LAZARET_* in its environment but what is given. */
export function runCli(args: readonly string[], options: { cwd: string; env?: Record<string, string> }): CliRun {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_")));
  const child = spawn(process.execPath, [binary, ...args], { cwd: options.cwd, env: { ...env, ...options.env } });
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
