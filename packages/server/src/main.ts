import { lazaret, runProgram } from "./cli/program.ts";

process.exitCode = await runProgram(lazaret(), process.argv.slice(2));
