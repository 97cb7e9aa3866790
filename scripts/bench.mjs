// npm run bench: sets up the server, clamd and the peers, then measures them in one run. Arguments go to bench/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, installPackagesOf, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"], "redis-server": ["redis-server"] });
installPackagesOf("bench");
runOwnNode([join(root, "bench", "run.ts"), ...process.argv.slice(2)]);
