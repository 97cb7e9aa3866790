// npm run try-packages: sets up the compiler, then installs both packages from their tarballs and uses them: the service on Node 24,
// the client on Node 20, 22 and 24, Bun and Deno.
import { join } from "node:path";
import { installPackages, root, runOwnNode } from "./setup.mjs";

installPackages("all");
runOwnNode([join(root, "release", "run-try.ts")]);
