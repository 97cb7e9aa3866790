import { Command } from "commander";
import { withExamples } from "./examples.ts";
import { out } from "./terminal/output.ts";

/** In two halves, so that no antivirus trips over this file. */
const HALVES = ["X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];

export function eicarCommand(): Command {
  const command = new Command("eicar")
    .description("print the EICAR test file, which is harmless and which every scanner calls infected")
    .action(() => out(`${HALVES.join("")}${process.stdout.isTTY ? "\n" : ""}`));
  return withExamples(command, [
    ["eicar | lazaret scan -", "does the server find it?"],
    ["eicar > test.txt", "your own antivirus may find it first"],
  ]);
}
