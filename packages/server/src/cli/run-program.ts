import { type Command, CommanderError } from "commander";
import { CommandFailed } from "./outcome/command-failed.ts";
import { exitCodes } from "./outcome/exit-codes.ts";
import { say } from "./terminal/output.ts";

/** Runs the command that the arguments name, and answers the exit code. What is a bug is thrown. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  forEach(program, settle);
  try {
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? exitCodes.clean);
  } catch (error) {
    // Commander has said what is wrong; for help and version nothing is.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.clean : exitCodes.usage;
    // What an operator can mend comes with a hint; the rest is a bug, and keeps its stack.
    if (!(error instanceof Error && "hint" in error)) throw error;
    say(`lazaret: ${error.message}\nhint: ${error.hint}\n`);
    return error instanceof CommandFailed ? error.exitCode : exitCodes.settings;
  }
}

/** Commander hands these down only to commands that it makes itself. */
function settle(command: Command): void {
  command
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(inOurWords(text, command)) });
}

function inOurWords(text: string, command: Command): string {
  const [, problem = text, suggestion] = /^error: ([\s\S]*?)\n?(?:\(Did you mean (.*)\?\)\n?)?$/.exec(text) ?? [];
  const hint = suggestion ? `did you mean ${suggestion}?` : `${pathOf(command)} --help shows how it is used`;
  return `lazaret: ${problem.trim()}\nhint: ${hint}\n`;
}

/** `lazaret dlq list` */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function forEach(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) forEach(child, visit);
}
