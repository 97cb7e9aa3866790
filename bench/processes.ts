import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";

const TICKS_PER_SECOND = 100;

/** A program under measurement. */
export interface Measured {
  child: ChildProcess;
  lines: Interface;
  /** Throws away what it still says, without looking at it. */
  ignoreOutput(): void;
  stop(): Promise<void>;
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
    async stop() {
      child.kill("SIGTERM");
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

/** CPU seconds that a process has used so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The most memory that a process has held so far, in MB. */
export function peakMb(pid: number): number {
  const [, kb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}

/** The memory that a process holds now, in MB. */
export function rssMb(pid: number): number {
  const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kb) / 1024;
}
