// npm run soak: scans for hours, and looks whether memory and time stay as they are. Arguments go to bench/soak.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
const args = [join(root, "bench", "soak.ts"), ...process.argv.slice(2)];
// As the service is run, see docs/performance.md.
const env = { MALLOC_ARENA_MAX: "2", ...process.env };
process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit", env }).status ?? 1);
