// npm run site: the pages of this repository as a site in site/dist, for any server of files. Fails for links that lead nowhere.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("all");
runOwnNode([join(root, "site", "run.ts")]);
