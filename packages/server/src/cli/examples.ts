import type { Command } from "commander";

/** A command line to copy, without `lazaret`, and what it does. */
export type Example = readonly [line: string, what: string];

interface Guide {
  examples: readonly Example[];
  /** What else there is to say; one line for each thought. */
  notes: readonly string[];
}

const guides = new WeakMap<Command, Guide>();
/** As commander does where the terminal does not say how wide it is. */
const COLUMNS = 80;

/** Puts examples, and what else there is to say, below a command's help and into docs/cli.md. */
export function withExamples(command: Command, examples: readonly Example[], notes: readonly string[] = []): Command {
  guides.set(command, { examples, notes });
  for (const child of command.commands.filter((each) => !guides.has(each))) {
    const own = examples.filter(([line]) => line.startsWith(`${command.name()} ${child.name()}`));
    child.addHelpText("after", helpText(own));
  }
  return command.addHelpText("after", [helpText(examples), ...notes.map(wrapped)].join("\n"));
}

function helpText(examples: readonly Example[]): string {
  return ["", "Examples:", ...exampleLines(examples).map((line) => `  ${line}`), ""].join("\n");
}

export function guideOf(command: Command): Guide | undefined {
  return guides.get(command);
}

export function exampleLines(examples: readonly Example[]): string[] {
  return examples.flatMap(([line, what]) => [...(what === "" ? [] : [`# ${what}`]), `lazaret ${line}`]);
}

function wrapped(text: string): string {
  return text.replace(new RegExp(`(?! )(.{1,${COLUMNS}})(?: +|$)`, "g"), "$1\n").trimEnd();
}
