// npm run bench [-- --only scans|jobs|mix] [--signatures <folder>]: Lazaret and what a team would build instead, side by side in one
// run. Prints Markdown tables; ratios carry over to other machines, numbers do not.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { PARTS, parseArguments } from "./arguments.ts";
import { measureJobs } from "./jobs.ts";
import { measureMix } from "./mix.ts";
import { measureScans } from "./scans.ts";
import { type Target, targetsTable } from "./targets.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** What statfs(2) calls a file system in memory, where a sync costs nothing. */
const TMPFS = 0x01021994;

const asked = parseArguments(process.argv.slice(2));
if (typeof asked === "string") {
  console.error(`lazaret: ${asked}\nhint: --only ${PARTS.join(", ")}, and --signatures <folder>`);
  process.exit(2);
}
const { parts, signaturesDir = here("../packages/server/signatures") } = asked;

const disk = statfsSync(tmpdir()).type === TMPFS ? here(".") : tmpdir();
const folder = mkdtempSync(join(disk, "lazaret-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

await using clamd = await ownClamd({ folder, signaturesDir, config: { DisableCache: "yes", MaxThreads: "16" } });
const options = { folder, clamd };
const started = performance.now();
const targets: Target[] = [];
if (parts.includes("scans")) targets.push(...(await measureScans(options)));
if (parts.includes("jobs")) targets.push(...(await measureJobs(options)));
if (targets.length > 0) {
  console.log(`\n${targetsTable(targets)}\n`);
  console.log(
    "Medians of rounds; the spread is from the least to the most. By CPU: what the ratio would be if all cores",
  );
  console.log(`were always busy. ${((performance.now() - started) / 1000).toFixed(0)} s.`);
}
if (parts.includes("mix")) await measureMix(options);
