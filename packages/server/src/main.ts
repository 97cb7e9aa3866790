import { lazaret, runProgram } from "./cli/program.ts";

const args = process.argv.slice(2);
process.exitCode = await runProgram(await lazaret(args), args);
