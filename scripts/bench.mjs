// npm run bench: sets up the server, clamd and the peers, then measures them in one run. Arguments go to bench/run.ts.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fail, installDebianPackages, installPackages, ownNode, root } from "./setup.mjs";

installPackages("run");
installDebianPackages({ "clamav-daemon": ["clamd"], "redis-server": ["redis-server"], strace: ["strace"] });
const bench = join(root, "bench");
const args = process.argv.slice(2);
// The mix is measured against clamd itself, and needs no peers.
if (args.join(" ") !== "--only mix") installPeers();
const run = [join(bench, "run.ts"), ...args];
process.exit(spawnSync(ownNode, run, { cwd: root, stdio: "inherit" }).status ?? 1);

function installPeers() {
  const npm = process.env.npm_execpath;
  const [command, first] = npm ? [process.execPath, [npm]] : ["npm", []];
  const { status } = spawnSync(command, [...first, "ci", "--no-fund", "--no-audit", "--loglevel=error"], {
    cwd: bench,
    stdio: "inherit",
  });
  if (status !== 0) fail("could not install the peers", "check that this machine reaches the npm registry");
}
