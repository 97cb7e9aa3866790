// npm run bench [-- --quick] [--strict] [--only targets|scan|mix|queue|postgres|seen|sizing] [--signatures <folder>]: Lazaret and
// what a team would build instead, side by side in one run. Prints Markdown tables; ratios carry over, numbers do not.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { PARTS, parseArguments } from "./arguments.ts";
import { measureTargets } from "./measure-targets.ts";
import { measureMix } from "./mix.ts";
import { measurePostgres } from "./postgres/measure-postgres.ts";
import { measureQueue } from "./queue/measure-queue.ts";
import { measureScans } from "./scan.ts";
import { measureSeen } from "./seen.ts";
import { measureSizing } from "./sizing.ts";
import { allReached } from "./targets.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** What statfs(2) calls a file system in memory, where a sync costs nothing. */
const TMPFS = 0x01021994;

const asked = parseArguments(process.argv.slice(2));
if (typeof asked === "string") {
  console.error(
    `lazaret: ${asked}\nhint: --quick, --strict, --signatures <folder>, and --only ${PARTS.join(", ")}; all without it`,
  );
  process.exit(2);
}
const { parts, pace, signaturesDir = here("../packages/server/signatures"), strict } = asked;

const disk = statfsSync(tmpdir()).type === TMPFS ? here(".") : tmpdir();
const folder = mkdtempSync(join(disk, "lazaret-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

await using clamd = await ownClamd({
  folder,
  signaturesDir,
  config: { DisableCache: "yes", MaxThreads: "16" },
});
const options = { folder, clamd, pace };
if (parts.includes("scan")) await measureScans(options);
if (parts.includes("mix")) await measureMix(options);
if (parts.includes("queue")) await measureQueue(options);
if (parts.includes("postgres")) await measurePostgres(options);
if (parts.includes("seen")) await measureSeen(options);
if (parts.includes("sizing")) await measureSizing(options);
if (parts.includes("targets")) {
  const targets = await measureTargets(options);
  if (strict && !allReached(targets)) process.exitCode = 1;
}
