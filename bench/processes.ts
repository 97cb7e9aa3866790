import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

const TICKS_PER_SECOND = 100;

const program = fileURLToPath(new URL("../packages/server/bin/lazaret.mjs", import.meta.url));
const [firstLine = ""] = readFileSync(program, "utf8").split("\n");
/** What Node is started with for the service: the flags of the program's first line, and the program. */
export const LAZARET: readonly string[] = [...(firstLine.match(/--\S+/g) ?? []), program];
/** The environment that `npm start` and the image give it. */
export const SHIPPED: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: "2" };

/** A program under measurement. */
export interface Measured {
  child: ChildProcess;
  lines: Interface;
  /** Throws away what it still says, without looking at it. */
  ignoreOutput(): void;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a program that does not outlive the benchmark, however that ends. */
export function start(program: string, args: readonly string[], env: Record<string, string> = {}): Measured {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  process.setMaxListeners(100).once("exit", () => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    lines,
    ignoreOutput() {
      lines.close();
      child.stdout.resume();
    },
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await exited;
    },
  };
}

export async function lineWith(measured: Measured, pattern: RegExp): Promise<RegExpMatchArray> {
  for await (const line of measured.lines) {
    const match = line.match(pattern);
    if (match) {
      measured.lines.resume();
      return match;
    }
  }
  throw new Error(`the program ended without saying ${pattern}`);
}

/** CPU seconds that a process and those that it started, also such as have ended, have used so far. */
export function cpuSeconds(pid: number): number {
  return sumOfFamily(pid, (each) => {
    const fields = readFileSync(`/proc/${each}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return ticks / TICKS_PER_SECOND;
  });
}

/** The most memory that a process, and those that it started, have held so far, in MB. */
export function peakMb(pid: number): number {
  return sumOfFamily(pid, (each) => statusMb(each, /VmHWM:\s+(\d+)/));
}

/** The memory that a process, and those that it started, hold now, in MB. */
export function rssMb(pid: number): number {
  return sumOfFamily(pid, (each) => statusMb(each, /VmRSS:\s+(\d+)/));
}

/** Files, sockets and whatever else a process, and those that it started, have open now. */
export function openFiles(pid: number): number {
  return sumOfFamily(pid, (each) => readdirSync(`/proc/${each}/fd`).length);
}

function statusMb(pid: number, field: RegExp): number {
  const [, kb] = field.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}

/** One that ended meanwhile is left out. */
function sumOfFamily(pid: number, of: (pid: number) => number): number {
  let sum = of(pid);
  for (const child of childrenOf(pid)) {
    try {
      sum += sumOfFamily(child, of);
    } catch {}
  }
  return sum;
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8");
      return text.split(" ").filter(Boolean).map(Number);
    } catch {
      return [];
    }
  });
}
