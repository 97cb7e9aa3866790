import { Command, CommanderError } from "commander";
import { version } from "../version.ts";
import { auditCommand } from "./audit.ts";
import { completionCommand } from "./completion.ts";
import { configCommand } from "./config.ts";
import { devCommand } from "./dev.ts";
import { dlqCommand } from "./dlq.ts";
import { doctorCommand } from "./doctor.ts";
import { eicarCommand } from "./eicar.ts";
import { withExamples } from "./examples.ts";
import { CommandFailed, exitCodes } from "./exit-codes.ts";
import { findingsCommand } from "./findings.ts";
import { guardCommand } from "./guard.ts";
import { jobsCommand } from "./jobs.ts";
import { keysCommand } from "./keys.ts";
import { listenCommand } from "./listen.ts";
import { migrateCommand } from "./migrate.ts";
import { openapiCommand } from "./openapi.ts";
import { resultCommand } from "./result.ts";
import { scanCommand } from "./scan.ts";
import { serveCommand } from "./serve.ts";
import { signaturesCommand } from "./signatures.ts";
import { signingKeysCommand } from "./signing-keys.ts";
import { submitCommand } from "./submit.ts";
import { tenantsCommand } from "./tenants.ts";
import { say } from "./terminal/output.ts";
import { triggerCommand } from "./trigger.ts";
import { verifyCommand } from "./verify.ts";

/** `lazaret` with all its commands, in the order of its help. */
export function lazaret(): Command {
  const program = new Command("lazaret")
    .description("malware scanning as a service that you run yourself")
    .version(version)
    // A flag after a command belongs to that command, even if its parent has one of the same name.
    .enablePositionalOptions()
    .commandsGroup("Run the service:")
    .addCommand(devCommand())
    .addCommand(serveCommand())
    .addCommand(doctorCommand())
    .addCommand(signaturesCommand())
    .addCommand(configCommand())
    .addCommand(migrateCommand())
    .commandsGroup("Scan:")
    .addCommand(scanCommand())
    .addCommand(submitCommand())
    .addCommand(resultCommand())
    .addCommand(guardCommand())
    .addCommand(eicarCommand())
    .commandsGroup("Look after jobs:")
    .addCommand(jobsCommand())
    .addCommand(findingsCommand())
    .addCommand(dlqCommand())
    .commandsGroup("Share it among teams:")
    .addCommand(keysCommand())
    .addCommand(tenantsCommand())
    .addCommand(auditCommand())
    .commandsGroup("Receive callbacks:")
    .addCommand(listenCommand())
    .addCommand(triggerCommand())
    .addCommand(verifyCommand())
    .addCommand(signingKeysCommand())
    .commandsGroup("Other:")
    .addCommand(openapiCommand())
    .addCommand(completionCommand())
    .helpCommand("help [command]", "show the help of a command");
  return withExamples(
    program,
    [
      ["dev", "a server to try it out, on http://127.0.0.1:8040"],
      ["scan ~/Downloads", "scan files by it"],
      ["scan --local report.pdf", "scan with no server"],
    ],
    [
      "lazaret COMMAND --help tells more.",
      "Exit codes: 0 clean or done, 1 infected, 2 something not scanned, 3 no server, 4 refused, 64 wrong usage, 78 wrong settings.",
    ],
  );
}

/** Runs the command that the arguments name, and answers the exit code. What is a bug is thrown. */
export async function runProgram(program: Command, args: readonly string[]): Promise<number> {
  forEach(program, configureErrors);
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

/** Commander passes these on only to commands that it makes itself. */
function configureErrors(command: Command): void {
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
