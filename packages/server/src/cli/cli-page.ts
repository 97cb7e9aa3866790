import type { Argument, Command, Option } from "commander";
import { exampleLines, guideOf } from "./examples.ts";
import { SETTINGS_GROUP } from "./load-settings.ts";
import { lazaret, pathOf } from "./program.ts";

/** docs/cli.md: every command, for people. */
export async function cliPage(): Promise<string> {
  const program = await lazaret();
  const groups = Map.groupBy(program.commands, (command) => command.helpGroup());
  const contents = [...groups].map(([group, commands]) => `- ${group} ${commands.map(linkTo).join(", ")}`);
  return `# The command line

\`lazaret COMMAND\`, or \`npx lazaret COMMAND\` in the project. \`lazaret COMMAND --help\` shows the same.

${contents.join("\n")}

Data goes to stdout, everything else to stderr. Colours and progress bars are for terminals only; there are no colours with
\`NO_COLOR\`. Commands that talk to a server use \`LAZARET_URL\` and \`LAZARET_API_KEY\`; without them they use \`lazaret dev\` on
this machine, with the key in its data folder.

| exit code | |
|---|---|
| 0 | all clean; for commands that scan nothing: done |
| 1 | something is infected; \`doctor\`: something fails; \`signatures\`: they are old; \`dlq\`: not all of them were there |
| 2 | something not scanned, or there is no result |
| 3 | the server, or a receiver, cannot be reached |
| 4 | refused: by the server (4xx), by a receiver, or a signature that does not match |
| 64 | wrong usage |
| 75 | what may pass by itself: the database is away or locked, a disk is full, a port is taken; starting again may help |
| 78 | wrong settings, or something else that an operator has to mend |

${program.commands
  .flatMap((command) => [command, ...command.commands.filter((child) => isShown(child, command))])
  .map(section)
  .join("\n")}
This page is made from the commands in \`packages/server/src/cli\`: \`node scripts/write-cli-page.mjs\`.
`;
}

/** Words of before are not. */
function isShown(child: Command, command: Command): boolean {
  return command.createHelp().visibleCommands(command).includes(child);
}

function linkTo(command: Command): string {
  return `[\`${command.name()}\`](#${pathOf(command).replaceAll(" ", "-")})`;
}

function section(command: Command): string {
  const depth = "#".repeat(pathOf(command).split(" ").length);
  const guide = guideOf(command);
  const help = command.createHelp();
  const options = help.visibleOptions(command).filter(({ long }) => long !== "--help");
  const own = options.filter(({ helpGroupHeading }) => helpGroupHeading !== SETTINGS_GROUP);
  const rows = [...command.registeredArguments.map(argumentRow), ...own.map(optionRow)];
  const parts = [
    `${depth} ${pathOf(command)}`,
    sentence(command.description()),
    `\`\`\`text\n${help.commandUsage(command)}\n\`\`\``,
    ...(rows.length > 0 ? [["| | |", "|---|---|", ...rows].join("\n")] : []),
    ...settingsNote(options.filter((option) => !own.includes(option))),
    ...(guide ? [`\`\`\`sh\n${exampleLines(guide.examples).join("\n")}\n\`\`\``, ...guide.notes] : []),
  ];
  return `${parts.join("\n\n")}\n`;
}

function argumentRow(argument: Argument): string {
  const choices = argument.argChoices ? `: ${argument.argChoices.map((each) => `\`${each}\``).join(", ")}` : "";
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return `| \`${argument.required ? `<${name}>` : `[${name}]`}\` | ${argument.description}${choices} |`;
}

function optionRow(option: Option): string {
  const notes = [
    ...(option.argChoices ? [option.argChoices.map((each) => `\`${each}\``).join(", ")] : []),
    ...(showsDefault(option) ? [`default \`${option.defaultValueDescription ?? option.defaultValue}\``] : []),
    ...(option.mandatory ? ["needed"] : []),
  ];
  return `| \`${option.flags}\` | ${option.description}${notes.length > 0 ? ` (${notes.join("; ")})` : ""} |`;
}

function showsDefault({ defaultValue }: Option): boolean {
  return typeof defaultValue === "string" || typeof defaultValue === "number";
}

function settingsNote(settings: readonly Option[]): string[] {
  if (settings.length === 0) return [];
  const which =
    settings.length > 10 ? "a flag for every setting that is not a secret" : settings.map(flagOf).join(", ");
  return [`Settings: ${which} ([settings](settings.md)).`];
}

function flagOf({ long }: Option): string {
  return `\`${long}\``;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
