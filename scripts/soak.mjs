// npm run soak: the service under mixed traffic for half an hour, and nothing may drift. Arguments go to bench/soak/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"] });
// As the service is run, see docs/performance.md.
const env = { MALLOC_ARENA_MAX: "2", ...process.env };
runOwnNode([join(root, "bench", "soak", "run.ts"), ...process.argv.slice(2)], env);
