// npm run bench: sets up the server, clamd and the peers, then measures them in one run. Arguments go to bench/run.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fail, installDebianPackages, installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"], "redis-server": ["redis-server"], strace: ["strace"] });
const npm = process.env.npm_execpath;
const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
const bench = join(root, "bench");
const peer = spawnSync(command, [...first, "ci", "--no-fund", "--no-audit", "--loglevel=error"], {
  cwd: bench,
  stdio: "inherit",
});
if (peer.status !== 0) fail("could not install the peer", "check that this machine reaches the npm registry");
const run = [join(bench, "run.ts"), ...process.argv.slice(2)];
process.exit(spawnSync(ownNode, run, { cwd: root, stdio: "inherit" }).status ?? 1);
