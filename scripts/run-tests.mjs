// Runs the test files that match, each in a process of its own: `node --test` in an order of ours. Tests of whole services take the
// longest, and much of it is waiting; those of single modules take less than a second each, and fill what is left at the end.
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** Where a path begins with none of these, it comes behind those that do. */
const LONGEST_FIRST = [
  "packages/server/test/journeys/",
  "release/",
  "packages/server/test/",
  "packages/console/",
  "packages/client/",
  "deploy/",
  "packages/server/src/engines/",
  "packages/server/src/platforms/",
];

const found = globSync(process.argv.slice(2), { exclude: (name) => name === "node_modules" });
const files = [...new Set(found)].toSorted().toSorted((one, other) => placeOf(one) - placeOf(other));
if (files.length === 0) {
  process.stderr.write(`lazaret: there are no tests that match ${process.argv.slice(2).join(" ")}\n`);
  process.exit(1);
}

// Until the whole says otherwise.
process.exitCode = 1;
let failed = false;
// Two more than there are cores: many tests wait for leases, limits and servers most of their time. The limit is for what would never
// end; on a machine that others keep busy a test takes twenty times as long.
run({ files, concurrency: availableParallelism() + 2, timeout: 900_000 })
  .on("test:summary", ({ file, success }) => {
    failed ||= !success;
    if (file === undefined) process.exitCode = failed ? 1 : 0;
  })
  .compose(spec)
  .pipe(process.stdout);

/** @param {string} path */
function placeOf(path) {
  const place = LONGEST_FIRST.findIndex((beginning) => path.startsWith(beginning));
  return place === -1 ? LONGEST_FIRST.length : place;
}
