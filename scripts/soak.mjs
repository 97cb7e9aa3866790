// npm run soak: scans for hours, and looks whether memory and time stay as they are. Arguments go to bench/soak.ts.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
// As the service is run, see docs/performance.md.
const env = { MALLOC_ARENA_MAX: "2", ...process.env };
runOwnNode([join(root, "bench", "soak.ts"), ...process.argv.slice(2)], env);
