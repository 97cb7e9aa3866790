// npm test: sets up everything, then runs every check and test. `--only checks` or `--only tests` runs a part;
// further arguments name test files.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  buildConsole,
  folderInMemory,
  installDebianPackages,
  installPackages,
  installPackagesOf,
  ownNode,
  root,
  say,
  testPrograms,
} from "./setup.mjs";

const args = process.argv.slice(2);
const only = args[0] === "--only" ? args.splice(0, 2)[1] : undefined;
const files =
  args.length > 0
    ? args
    : ["packages/**/*.test.ts", "bench/*.test.ts", "panel/*.test.ts", "release/*.test.ts", "deploy/cdk/test/*.test.ts"];

installPackages("all");
installPackagesOf("deploy/cdk");
installPackagesOf("release/oldest");
const bin = (name) => join(root, "node_modules/.bin", name);
/** @type {[name: string, program: string, args: string[]][]} */
const checks = [
  ["format and lint", bin("biome"), ["ci", "--error-on-warnings", "."]],
  ["types", bin("tsc"), ["-p", "."]],
  ["types of the console", bin("tsc"), ["-p", "packages/console"]],
  ["types of the reference's page", bin("tsc"), ["-p", "packages/server/src/receive/reference/page"]],
  ["types of the scripts", bin("tsc"), ["-p", "scripts"]],
  ["types of the stacks", bin("tsc"), ["-p", "deploy/cdk"]],
  ["dead code", bin("knip"), ["--no-progress"]],
  // Tests do not count: what only they use is no product. Types leave no trace in it.
  ["dead code in the product", bin("knip"), ["--production", "--no-progress", "--exclude", "types"]],
];
/** @type {typeof checks} */
const tests = [["tests", ownNode, ["scripts/run-tests.mjs", ...files]]];

if (only !== "checks") {
  installDebianPackages(testPrograms);
  buildConsole();
}

const steps = [...(only === "tests" ? [] : checks), ...(only === "checks" ? [] : tests)];
// Hundreds of processes and threads load the same sources: the first keeps them compiled, without types, for the others.
// Made anew by each run, so that nothing old is met.
const compiled = join(root, "node_modules/.cache/lazaret-tests");
rmSync(compiled, { recursive: true, force: true });
// node_modules/.bin first, so that every program started by a test finds our Node.
const path = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
/** @type {NodeJS.ProcessEnv} */
const env = { ...process.env, PATH: path, NODE_COMPILE_CACHE: compiled, NODE_COMPILE_CACHE_PORTABLE: "1" };
for (const name of Object.keys(env)) if (name.startsWith("LAZARET_")) delete env[name];
// Tests write and remove hundreds of thousands of small files, a good part of them by clamd: a disk takes longer for that, and syncs.
const memory = only === "checks" ? undefined : folderInMemory();
if (memory) env.TMPDIR = memory;
process.on("exit", () => memory && rmSync(memory, { recursive: true, force: true }));
if (only !== "checks")
  spawnSync(ownNode, ["scripts/compile-tests.mjs", ...files], { cwd: root, env, stdio: "inherit" });
for (const [name, program, programArgs] of steps) {
  const started = Date.now();
  const { status } = spawnSync(program, programArgs, { cwd: root, stdio: "inherit", env });
  if (status !== 0) {
    say(`${name}: failed`);
    process.exit(1);
  }
  say(`${name}: ok (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}
