import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { endWithUs } from "../packages/server/src/engines/clamd/own-clamd.ts";

const binary = fileURLToPath(new URL("../packages/server/bin/lazaret.mjs", import.meta.url));
const CLI_MAX_BYTES = 64 * 1024 * 1024;
/** The end of what it wrote to stderr, for the message when it ends by itself. */
const WORDS = 2000;

/** A line of its log. */
export type LogLine = Readonly<Record<string, unknown>>;

export interface Lazaret {
  /** Resolves with its port when it is ready. Rejects when it ended before. */
  readonly ready: Promise<number>;
  /** Resolves when it is gone: with its exit code or signal, and its last words. */
  readonly gone: Promise<{ code: number | string | null; words: string }>;
  signal(name: "SIGKILL" | "SIGTERM"): void;
}

/** `lazaret serve` as a process of its own, which does not outlive this one, however that ends. */
export function startLazaret(env: Readonly<Record<string, string>>, onLine: (line: LogLine) => void): Lazaret {
  const child = spawn(process.execPath, [binary, "serve"], {
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
  return { ready: ready.promise, gone, signal: (name) => void child.kill(name) };
}

/** What a command of the command line prints as JSON. */
export async function askLazaret(args: readonly string[], dataDir: string): Promise<unknown> {
  const command = [binary, ...args, "--data-dir", dataDir, "--json"];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    env: cleanEnv(),
    maxBuffer: CLI_MAX_BYTES,
  });
  return JSON.parse(stdout);
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
