import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { endWithUs } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { lazaretCommand } from "../packages/server/test/support/lazaret-command.ts";

const [program, ...itsArgs] = lazaretCommand;
const CLI_MAX_BYTES = 64 * 1024 * 1024;
/** The end of what it wrote to stderr, for the message when it ends by itself. */
const WORDS = 2000;

/** A line of its log. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface Lazaret {
  /** Resolves with its port when it is ready. Rejects when it ended before. */
  readonly ready: Promise<number>;
  /** Resolves when it has ended: with its exit code or signal, and its last words. */
  readonly gone: Promise<{ code: number | string | null; words: string }>;
  signal(name: "SIGKILL" | "SIGTERM"): void;
}

/** `lazaret serve` as a process of its own, which does not outlive this one, however that ends. */
export function startLazaret(env: Readonly<Record<string, string>>, onLine: (line: LogLine) => void): Lazaret {
  const child = spawn(program, [...itsArgs, "serve"], {
    env: { ...cleanEnv(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const watcher = child.pid === undefined ? undefined : endWithUs(child.pid);
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words = `${words}${text}`.slice(-WORDS);
  });
  const ready = Promise.withResolvers<number>();
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = parsed(text);
    // A line that the kill cut.
    if (!line) return;
    if (line.event === "listening") ready.resolve(Number(line.port));
    onLine(line);
  });
  const gone = once(child, "close").then(() => {
    watcher?.kill("SIGKILL");
    const code = child.exitCode ?? child.signalCode;
    ready.reject(new Error(`lazaret ended with ${code} before it was ready: ${words}`));
    return { code, words };
  });
  ready.promise.catch(() => {});
  return {
    ready: ready.promise,
    gone,
    signal: (name) => void child.kill(name),
  };
}

/** What a command of the command line prints as JSON. */
export async function askLazaret(args: readonly string[], env: Readonly<Record<string, string>>): Promise<unknown> {
  return JSON.parse(await printed(args, env));
}

/** The same of one that prints a line for each. */
export async function askForLines(args: readonly string[], env: Readonly<Record<string, string>>): Promise<unknown[]> {
  const lines = (await printed(args, env)).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}

async function printed(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const command = [...itsArgs, ...args, "--json"];
  const { stdout } = await promisify(execFile)(program, command, {
    env: { ...cleanEnv(), ...env },
    maxBuffer: CLI_MAX_BYTES,
  });
  return stdout;
}

function cleanEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("LAZARET_")));
}

function parsed(text: string): LogLine | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
