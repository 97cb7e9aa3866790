// npm run journeys:postgres: every journey that makes sense there, on a fleet of two APIs, three workers and one PostgreSQL
// instead of one service. Arguments name some of them: npm run journeys:postgres -- callbacks roles
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { installDebianPackages, installPackages, ownNode, root, testPrograms } from "./setup.mjs";

/** What is about one process, another platform, or the data folder as a database. */
const elsewhere = [
  "aws",
  "aws-endpoint",
  "aws-ready",
  "chaos",
  "data-folder",
  "lambda",
  "own-platform",
  "postgres-fleet",
  "proof",
  "two-services",
  "verdict-cache",
];

installPackages("all");
installDebianPackages(testPrograms);
const folder = join(root, "packages/server/test/journeys");
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".test.ts"))
  .map((name) => name.replace(".test.ts", ""))
  .filter((name) => !elsewhere.includes(name));
const asked = process.argv.slice(2);
const files = (asked.length > 0 ? asked : names).map((name) => join(folder, `${name}.test.ts`));
const env = { ...process.env, JOURNEYS_ON: "postgres", PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}` };
for (const name of Object.keys(env)) if (name.startsWith("LAZARET_")) delete env[name];
// Each is a fleet by itself, and takes five times as long to start as one service.
const args = ["--test", "--test-concurrency=1", "--test-timeout=600000", ...files];
process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit", env }).status ?? 1);
