import { spawn } from "node:child_process";
import { join } from "node:path";
import type { TestChoice } from "./mutant.ts";

/** What became of the chosen tests of a file. */
export type TestRun =
  | { kind: "passed"; count: number }
  /** The first that failed, and whether it began at all: a file that cannot be loaded shows nothing. */
  | { kind: "failed"; test: string; began: boolean };

const LIMIT_MS = 240_000;

/** Runs them in the tree at `root`, with nothing of LAZARET_* in the environment. */
export async function runTests(root: string, { file, pattern }: TestChoice): Promise<TestRun> {
  const bin = join(root, "node_modules/.bin");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(LAZARET_|NODE_TEST)/.test(name)));
  const only = pattern === undefined ? [] : [`--test-name-pattern=${pattern}`];
  const child = spawn(join(bin, "node"), ["--test", "--test-reporter=tap", "--test-timeout=120000", ...only, file], {
    cwd: root,
    env: { ...env, PATH: `${bin}:${process.env.PATH}` },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  let tap = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    tap += part;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return outcome(tap, code, file);
}

function outcome(tap: string, code: number | null, file: string): TestRun {
  const passed = Number(/^# pass (\d+)$/m.exec(tap)?.[1] ?? 0);
  if (code === 0) return { kind: "passed", count: passed };
  const failures = [...tap.matchAll(/^ *not ok \d+ - (.+)$/gm)].map(([, name = ""]) => name);
  const test = failures.find((name) => !name.endsWith(".test.ts")) ?? file;
  return { kind: "failed", test, began: test !== file };
}
