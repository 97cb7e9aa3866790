// npm run flood: one tenant's single jobs beside another's thousands. Arguments go to bench/flood.ts.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
runOwnNode([join(root, "bench", "flood.ts"), ...process.argv.slice(2)], process.env);
