// npm run chaos: sets up the server and clamd, then kills them over and over while they work. docs/reliability.md.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installDebianPackages, installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"] });
const args = [join(root, "chaos", "run.ts"), ...process.argv.slice(2)];
process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit" }).status ?? 1);
