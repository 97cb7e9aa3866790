// npm run mutants: sets up what the tests need, then breaks every number and word of the contract and every row of
// docs/spec-map.md, one at a time, in a copy of the repository, and shows that a test notices. `--list`, `--only <pattern>`,
// `--jobs <n>`: mutants/run.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { installDebianPackages, installPackages, installPackagesOf, ownNode, root } from "./setup.mjs";

installPackages("all");
installPackagesOf("deploy/cdk");
installDebianPackages({
  "clamav-daemon": ["clamd"],
  "clamav-testfiles": ["/usr/share/clamav-testfiles/clam.exe"],
  chromium: ["chromium"],
  openssl: ["openssl"],
  "p7zip-full": ["7z"],
});
const args = [join(root, "mutants", "run.ts"), ...process.argv.slice(2)];
process.exit(spawnSync(ownNode, args, { cwd: root, stdio: "inherit" }).status ?? 1);
