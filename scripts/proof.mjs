// npm run proof: sets up the server, clamd and the programs that make and open containers, then shows all of the corpus to
// every set-up. `--list`, `--only <pattern>`, `--limit <files>`, `--control`, `--save <folder>`, `--unchecked`: proof/run.ts.
import { join } from "node:path";
import { containerMakers } from "./proof-programs.mjs";
import { installDebianPackages, installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"], ...containerMakers });
runOwnNode([join(root, "proof", "run.ts"), ...process.argv.slice(2)]);
