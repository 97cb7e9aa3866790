// npm run soak: the service under mixed traffic for as long as is wanted, and nothing may drift; with --scans, engine P alone. docs/performance.md.
import { parseSoakArguments, USAGE } from "./arguments.ts";
import { endure } from "./endure.ts";
import { endureScans } from "./scans.ts";

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const asked = parseSoakArguments(process.argv.slice(2));
if (typeof asked === "string") {
  console.error(`lazaret: ${asked}\nhint: ${USAGE}`);
  process.exit(2);
}
const say = (line: string): void => console.log(line);
const passed = asked.scans === undefined ? (await endure(asked, say)).passed : await endureScans(asked.scans, say);
process.exitCode = passed ? 0 : 1;
