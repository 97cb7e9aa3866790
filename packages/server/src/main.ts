import { lazaret } from "./cli/program.ts";
import { runProgram } from "./cli/run-program.ts";

process.exitCode = await runProgram(lazaret(), process.argv.slice(2));
