// npm run chaos: sets up the server and clamd, then kills them over and over while they work. docs/reliability.md.
import { join } from "node:path";
import { installDebianPackages, installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"] });
runOwnNode([join(root, "chaos", "run.ts"), ...process.argv.slice(2)]);
