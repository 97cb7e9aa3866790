// npm start: sets up what the server needs, then runs `lazaret dev` with the project's own Node.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildConsole, installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
buildConsole();
const program = join(root, "packages/server/bin/lazaret.mjs");
const child = spawn(ownNode, [program, "dev", ...process.argv.slice(2)], {
  stdio: "inherit",
  // Few memory pools of the C library: each keeps its largest size, see docs/performance.md.
  env: { MALLOC_ARENA_MAX: "2", ...process.env },
});
let stopping = false;
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
  process.on(signal, () => {
    stopping ||= signal !== "SIGHUP";
    child.kill(signal);
  });
child.on("exit", (code, signal) => process.exit(signal ? 1 : (code ?? 1)));

// npm ends its shell but not this process: when they are gone, so is the reason to run. A second signal would cut requests off, so none is
// sent where one was.
const parent = process.ppid;
const watching = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(watching);
  if (!stopping) child.kill("SIGTERM");
}, 300).unref();
