// npm run bench: sets up the server, clamd and the peers, then measures them in one run. Arguments go to bench/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, installPackagesOf, root, runOwnNode, testPrograms } from "./setup.mjs";

installPackages("run");
installDebianPackages({
  "clamav-daemon": ["clamd"],
  "redis-server": ["redis-server"],
  strace: ["strace"],
  postgresql: testPrograms.postgresql,
});
const args = process.argv.slice(2);
// These are measured against clamd or Lazaret itself, and need no peers.
const only = args[args.indexOf("--only") + 1] ?? "";
if (!["mix", "seen", "sizing"].includes(only)) installPackagesOf("bench");
runOwnNode([join(root, "bench", "run.ts"), ...args]);
