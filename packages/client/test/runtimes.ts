import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Runtime {
  /** With its version. */
  name: string;
  program: string;
  args: readonly string[];
}

const root = realpathSync(fileURLToPath(new URL("../../..", import.meta.url)));

/** The oldest Node of this machine that the package supports: the project's own is newer than what users have. */
export function oldestNode(): Runtime {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = [...folders.map((folder) => join(folder, "node")), process.env.npm_node_execpath ?? ""];
  const others = candidates
    .filter((path) => path !== "" && existsSync(path))
    .map((path) => realpathSync(path))
    .filter((path) => !path.startsWith(join(root, "node_modules")));
  const runtimes = [...new Set([...others, process.execPath])]
    .map((program) => ({ program, version: versionOf(program) }))
    .filter(({ version }) => major(version) >= 20)
    .sort((a, b) => major(a.version) - major(b.version));
  const { program, version } = runtimes[0] ?? { program: process.execPath, version: process.version };
  return { name: `Node ${version}`, program, args: [] };
}

/** Deno and Bun, where npm has installed them. */
export function otherRuntimes(): Runtime[] {
  const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
  const bun = installed(`@oven/bun-${process.platform}-${cpu}`, "bin/bun");
  const deno = installed(`@deno/${process.platform}-${process.arch}-glibc`, "deno");
  return [
    ...(bun ? [{ name: `Bun ${versionOf(bun)}`, program: bun, args: ["run"] }] : []),
    ...(deno
      ? [
          {
            name: versionOf(deno),
            program: deno,
            args: ["run", "--allow-all", "--no-remote", "--node-modules-dir=manual"],
          },
        ]
      : []),
  ];
}

function installed(packageName: string, path: string): string | undefined {
  try {
    const program = join(createRequire(import.meta.url).resolve(`${packageName}/package.json`), "..", path);
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

function versionOf(program: string): string {
  return execFileSync(program, ["--version"]).toString().split("\n")[0]?.split(" (")[0]?.trim() ?? "";
}

function major(version: string): number {
  return Number(version.replace(/^v/, "").split(".")[0]);
}
