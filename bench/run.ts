// npm run bench [-- --only scan|mix|queue]: Lazaret and what a team would build instead, side by side in one run. Prints
// Markdown tables; ratios carry over, numbers do not.
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ownClamd } from "../packages/server/src/engines/clamd/own-clamd.ts";
import { measureMix } from "./mix.ts";
import { measureQueue } from "./queue/measure-queue.ts";
import { measureScans } from "./scan.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** What statfs(2) calls a file system in memory, where a sync costs nothing. */
const TMPFS = 0x01021994;

const { values } = parseArgs({ options: { only: { type: "string" } } });
const PARTS = ["scan", "mix", "queue"];
const parts = values.only === undefined ? PARTS : [values.only];
if (!parts.every((part) => PARTS.includes(part))) {
  console.error(`lazaret: there is no benchmark ${values.only}\nhint: --only scan, mix or queue; all without it`);
  process.exit(2);
}

const disk = statfsSync(tmpdir()).type === TMPFS ? here(".") : tmpdir();
const folder = mkdtempSync(join(disk, "lazaret-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

await using clamd = await ownClamd({
  folder,
  signaturesDir: here("../packages/server/signatures"),
  config: { DisableCache: "yes", MaxThreads: "16" },
});
const { socketPath: clamdSocket, pid: clamdPid } = clamd;
if (parts.includes("scan")) await measureScans(folder, clamdSocket);
if (parts.includes("mix")) await measureMix(folder, clamd);
if (parts.includes("queue")) await measureQueue({ folder, clamdSocket, clamdPid });
