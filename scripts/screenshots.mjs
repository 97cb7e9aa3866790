// npm run screenshots: starts a service with sample data and writes docs/pictures/*.png, the pages as the docs show them.
import { buildConsole, installDebianPackages, installPackages, runOwnNode, testPrograms } from "./setup.mjs";

installPackages("all");
installDebianPackages(testPrograms);
buildConsole();
const pictures = ["packages/console/test/screenshots.ts", "packages/console/test/dashboard-picture.ts"];
runOwnNode(["--test", "--test-timeout=900000", ...pictures]);
