import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";

const TICKS_PER_SECOND = 100;

/** A program under measurement. */
export interface Measured {
  child: ChildProcess;
  lines: Interface;
  stop(): Promise<void>;
}

export function start(program: string, args: readonly string[], env: Record<string, string> = {}): Measured {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const exited = once(child, "exit");
  return {
    child,
    lines: createInterface({ input: child.stdout as NodeJS.ReadableStream }),
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
