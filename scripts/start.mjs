// npm start: sets up what the server needs, then runs `lazaret dev` with the project's own Node.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildConsole, installPackages, nodeFlags, ownNode, root } from "./setup.mjs";

installPackages("run");
buildConsole();
const program = join(root, "packages/server/bin/lazaret.mjs");
const child = spawn(ownNode, [...nodeFlags, program, "dev", ...process.argv.slice(2)], {
  stdio: "inherit",
  // Few memory pools of the C library: each keeps its largest size, see docs/performance.md.
  env: { MALLOC_ARENA_MAX: "2", ...process.env },
});
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
  process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));

// npm tells its shell to end but not us: when they are gone, so is the reason to run.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), 300).unref();
