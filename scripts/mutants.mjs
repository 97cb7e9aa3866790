// npm run mutants: sets up what the tests need, then breaks every number and word of the contract and every row of
// docs/spec-map.md, one at a time, in a copy of the repository, and shows that a test notices. `--list`, `--only <pattern>`,
// `--jobs <n>`: mutants/run.ts.
import { join } from "node:path";
import { installDebianPackages, installPackages, installPackagesOf, root, runOwnNode, testPrograms } from "./setup.mjs";

installPackages("all");
installPackagesOf("deploy/cdk");
installDebianPackages(testPrograms);
runOwnNode([join(root, "mutants", "run.ts"), ...process.argv.slice(2)]);
