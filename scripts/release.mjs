// npm run release -- --dry-run: sets up the compiler, then makes what a release consists of, see docs/release.md.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("all");
runOwnNode([join(root, "release", "run-release.ts"), ...process.argv.slice(2)]);
