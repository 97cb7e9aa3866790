// npm run soak: the service under mixed traffic for as long as is wanted, and nothing may drift; with --scans, engine P alone. docs/performance.md.
import { writeFileSync } from "node:fs";
import { parseSoakArguments, USAGE } from "./arguments.ts";

const args = process.argv.slice(2);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

if (args.some((arg) => /^--scans\b/.test(arg))) {
  await import("./scans.ts");
} else {
  const asked = parseSoakArguments(args);
  if (typeof asked === "string") {
    console.error(`lazaret: ${asked}\nhint: ${USAGE}`);
    process.exit(2);
  }
  const { endure } = await import("./endure.ts");
  const { passed, svg } = await endure(asked, (line) => console.log(line));
  if (asked.picture !== undefined) {
    writeFileSync(asked.picture, svg);
    console.log(`\nThe picture is ${asked.picture}.`);
  }
  process.exitCode = passed ? 0 : 1;
}
