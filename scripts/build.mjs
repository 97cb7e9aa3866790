// npm run build: sets up the compiler, then writes both packages as they are published to dist, or to the folder named.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("all");
runOwnNode([join(root, "release", "run-build.ts"), ...process.argv.slice(2)]);
