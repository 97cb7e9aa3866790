import { Command, CommanderError } from "commander";
import { version } from "../version.ts";
import { withExamples } from "./examples.ts";
import { exitCodes, reported } from "./exit-codes.ts";

/** In the order of the help. Each is loaded when it is meant: what one needs, most of the others do not. */
const groups: Record<string, Record<string, () => Promise<Command>>> = {
  "Run the service:": {
    dev: async () => (await import("./dev.ts")).devCommand(),
    serve: async () => (await import("./serve.ts")).serveCommand(),
    health: async () => (await import("./health.ts")).healthCommand(),
    doctor: async () => (await import("./doctor.ts")).doctorCommand(),
    signatures: async () => (await import("./signatures.ts")).signaturesCommand(),
    config: async () => (await import("./config.ts")).configCommand(),
    migrate: async () => (await import("./migrate.ts")).migrateCommand(),
    backup: async () => (await import("./backup.ts")).backupCommand(),
    restore: async () => (await import("./backup.ts")).restoreCommand(),
  },
  "Scan:": {
    scan: async () => (await import("./scan.ts")).scanCommand(),
    submit: async () => (await import("./submit.ts")).submitCommand(),
    result: async () => (await import("./result.ts")).resultCommand(),
    guard: async () => (await import("./guard.ts")).guardCommand(),
    eicar: async () => (await import("./eicar.ts")).eicarCommand(),
  },
  "Look after jobs:": {
    jobs: async () => (await import("./jobs.ts")).jobsCommand(),
    findings: async () => (await import("./findings.ts")).findingsCommand(),
    dlq: async () => (await import("./dlq.ts")).dlqCommand(),
  },
  "Share it among teams:": {
    keys: async () => (await import("./keys.ts")).keysCommand(),
    tenants: async () => (await import("./tenants.ts")).tenantsCommand(),
    audit: async () => (await import("./audit.ts")).auditCommand(),
  },
  "Receive callbacks:": {
    listen: async () => (await import("./listen.ts")).listenCommand(),
    trigger: async () => (await import("./trigger.ts")).triggerCommand(),
    verify: async () => (await import("./verify.ts")).verifyCommand(),
    "signing-keys": async () => (await import("./signing-keys.ts")).signingKeysCommand(),
  },
  "Other:": {
    openapi: async () => (await import("./openapi.ts")).openapiCommand(),
    completion: async () => (await import("./completion.ts")).completionCommand(),
  },
};

/** `lazaret` with those of its commands that the arguments are about: without any, all. */
export async function lazaret(args: readonly string[] = []): Promise<Command> {
  const program = new Command("lazaret")
    .description("malware scanning as a service that you run yourself")
    .version(version)
    // A flag after a command belongs to that command, even if its parent has one of the same name.
    .enablePositionalOptions();
  const isMeant = meantBy(args[0]);
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group);
    for (const [name, load] of Object.entries(commands)) if (isMeant(name)) program.addCommand(await load());
  }
  program.helpCommand("help [command]", "show the help of a command");
  return withExamples(
    program,
    [
      ["dev", "a server to try it out, on http://127.0.0.1:8040"],
      ["scan ~/Downloads", "scan files by it"],
      ["scan --local report.pdf", "scan with no server"],
    ],
    [
      "lazaret COMMAND --help tells more.",
      "Exit codes: 0 clean or done, 1 infected, 2 something not scanned, 3 no server, 4 refused, 64 wrong usage, 75 try again later, 78 wrong settings.",
    ],
  );
}

/** A command is about itself, but for the one that completes all. What is no command is about all, too: there is help to show. */
function meantBy(first = ""): (name: string) => boolean {
  if (["--version", "-V"].includes(first)) return () => false;
  const isCommand = Object.values(groups).some((commands) => Object.hasOwn(commands, first));
  return isCommand && first !== "completion" ? (name) => name === first : () => true;
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
    return reported(error);
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
