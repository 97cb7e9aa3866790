// npm run bench: sets up the server, clamd and the peers, then measures them in one run. Arguments go to bench/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, installPackagesOf, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"], "redis-server": ["redis-server"], strace: ["strace"] });
const args = process.argv.slice(2);
// The mix is measured against clamd itself, and needs no peers.
if (args.join(" ") !== "--only mix") installPackagesOf("bench");
runOwnNode([join(root, "bench", "run.ts"), ...args]);
