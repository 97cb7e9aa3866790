import type { Command } from "commander";

/** What may stand after a command. */
export interface CommandWords {
  /** `dlq list`; empty for the program itself. */
  path: string;
  words: readonly Word[];
}

export interface Word {
  text: string;
  description: string;
  /** What it is, for shells that want to know. */
  kind: "command" | "option" | "value";
  takesValue: boolean;
}

/** Every command, with its subcommands, options and the values its argument can have. */
export function commandWords(program: Command): CommandWords[] {
  return [...walk(program, "")];
}

function* walk(command: Command, path: string): Generator<CommandWords> {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== "help");
  yield {
    path,
    words: [
      ...children.map((child) => word("command", child.name(), child.description())),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((choice) => word("value", choice, description)),
      ),
      ...help.visibleOptions(command).map((option) => ({
        ...word("option", option.long ?? option.short ?? "", option.description),
        takesValue: option.required || option.optional,
      })),
    ],
  };
  for (const child of children) yield* walk(child, path === "" ? child.name() : `${path} ${child.name()}`);
}

function word(kind: Word["kind"], text: string, description: string): Word {
  return { text, description, kind, takesValue: false };
}

/** Path and name of each subcommand, which is how a line of words is followed down to its command. */
export function steps(commands: readonly CommandWords[]): { path: string; name: string }[] {
  return commands.flatMap(({ path, words }) =>
    words.filter(({ kind }) => kind === "command").map(({ text }) => ({ path, name: text })),
  );
}
