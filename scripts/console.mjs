// npm run console: the pages of the console as they are written, in front of a running service (`npm start`, or CONSOLE_SERVICE=<its address>).
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("run");
runOwnNode([join(root, "node_modules/vite/bin/vite.js"), join(root, "packages/console"), ...process.argv.slice(2)]);
