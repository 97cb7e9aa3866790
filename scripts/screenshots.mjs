// npm run screenshots: starts a service with sample data and writes docs/pictures/*.png, the pages as the docs show them.
import { buildConsole, installDebianPackages, installPackages, runOwnNode, testPrograms } from "./setup.mjs";

installPackages("all");
installDebianPackages(testPrograms);
buildConsole();
runOwnNode(["--test", "--test-timeout=600000", "packages/console/test/screenshots.ts"]);
