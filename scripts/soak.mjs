// npm run soak: scans for hours, and looks whether memory and time stay as they are. Arguments go to bench/soak.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
const args = [join(root, "bench", "soak.ts"), ...process.argv.slice(2)];
process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit" }).status ?? 1);
