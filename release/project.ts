// Where things are, and the programs that builds and releases run.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("..", import.meta.url));

export interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  dependencies?: Record<string, string>;
  engines?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
}

/** Runs a program to its end, and answers what it wrote. Throws with its words when it fails. */
export function run(
  program: string,
  args: readonly string[],
  { cwd = root, env = process.env }: RunOptions = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (status === 0) return stdout;
  throw new Error(`${[program, ...args].join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`.trim()}`);
}

/** Runs what a package of npm brings, by the Node that runs us. */
export function runScript(script: string, args: readonly string[], options?: RunOptions): string {
  return run(process.execPath, [join(root, "node_modules", script), ...args], options);
}

/** By our Node as well: another one's zlib packs the same files into other bytes. */
export function npm(args: readonly string[], options?: RunOptions): string {
  return run(process.execPath, [npmScript(), ...args], options);
}

export function npmScript(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = [process.env.npm_execpath, ...folders.map((folder) => join(folder, "npm"))].find(
    (path) => path !== undefined && existsSync(path),
  );
  if (found === undefined) throw new Error("there is no npm on this machine's PATH");
  return realpathSync(found);
}

/** Every file below a folder, in the same order everywhere. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
