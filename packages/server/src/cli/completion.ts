import { Argument, Command } from "commander";
import { withExamples } from "./examples.ts";
import { out } from "./terminal/output.ts";

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

export function completionCommand(): Command {
  const command = new Command("completion")
    .addArgument(new Argument("<shell>", "whose script to print").choices(Object.keys(shells)))
    .description("print a script that completes commands and options in your shell");
  withExamples(command, [
    ["completion bash > /etc/bash_completion.d/lazaret", "or: source <(lazaret completion bash)"],
    ["completion zsh > ~/.zfunc/_lazaret", "a folder of $fpath"],
    ["completion fish > ~/.config/fish/completions/lazaret.fish", ""],
  ]);
  return command.action((shell: keyof typeof shells, _flags: object, self: Command) => {
    let program = self;
    while (program.parent) program = program.parent;
    out(shells[shell](commandWords(program)));
  });
}

/** What may stand after a command. */
interface CommandWords {
  /** `dlq list`; empty for the program itself. */
  path: string;
  words: readonly Word[];
}

interface Word {
  text: string;
  description: string;
  /** What it is, for shells that want to know. */
  kind: "command" | "option" | "value";
  takesValue: boolean;
}

/** Every command, with its subcommands, options and the values its argument can have. */
function commandWords(program: Command): CommandWords[] {
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
  for (const child of children) yield* walk(child, pathBelow(path, child.name()));
}

function word(kind: Word["kind"], text: string, description: string): Word {
  return { text, description, kind, takesValue: false };
}

function pathBelow(path: string, name: string): string {
  return path === "" ? name : `${path} ${name}`;
}

/** Path and name of each subcommand, and the path of both: how a line of words is followed down to its command. */
function steps(commands: readonly CommandWords[]): { path: string; name: string; next: string }[] {
  return commands.flatMap(({ path, words }) =>
    words
      .filter(({ kind }) => kind === "command")
      .map(({ text: name }) => ({ path, name, next: pathBelow(path, name) })),
  );
}

/** For bash 3.2 and later. */
function bashCompletion(commands: readonly CommandWords[]): string {
  const offers = commands.map(({ path, words }) => {
    return `    "${path}") offered="${words.map(({ text }) => text).join(" ")}" ;;`;
  });
  return `# lazaret for bash: source <(lazaret completion bash)
_lazaret() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" offered="" word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$command $word" in
${followCases(commands)}
    esac
  done
  case "$command" in
${offers.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
# With no word that fits, files are offered.
complete -o default -F _lazaret lazaret
`;
}

function zshCompletion(commands: readonly CommandWords[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const offers = commands.map(({ path, words }) => {
    const lines = words.map(
      ({ text, description }) => `        ${quoted(`${text.replaceAll(":", "\\:")}:${description}`)}`,
    );
    return `    "${path}")\n      offered=(\n${lines.join("\n")}\n      ) ;;`;
  });
  return `#compdef lazaret
# lazaret for zsh: source <(lazaret completion zsh), or as _lazaret in a folder of $fpath
_lazaret() {
  local command="" word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
${followCases(commands)}
    esac
  done
  case "$command" in
${offers.join("\n")}
  esac
  _describe 'lazaret' offered
  _files
}
if [ "$funcstack[1]" = "_lazaret" ]; then _lazaret "$@"; else compdef _lazaret lazaret; fi
`;
}

/** For bash and zsh: from a command and the word after it to the next command. */
function followCases(commands: readonly CommandWords[]): string {
  return steps(commands)
    .map(({ path, name, next }) => `      "${path} ${name}") command="${next}" ;;`)
    .join("\n");
}

function fishCompletion(commands: readonly CommandWords[]): string {
  const follow = steps(commands).map(
    ({ path, name, next }) => `      case '${path} ${name}'\n        set path '${next}'`,
  );
  const offers = commands.flatMap(({ path, words }) => words.map((each) => fishLine(path, each)));
  return `# lazaret for fish: lazaret completion fish | source
function __lazaret_at
  set -l path ''
  for word in (commandline -opc)[2..-1]
    switch "$path $word"
${follow.join("\n")}
    end
  end
  test "$path" = "$argv[1]"
end
${offers.join("\n")}
`;
}

function fishLine(path: string, { text, description, kind, takesValue }: Word): string {
  const what = kind === "option" ? `-l ${text.replace(/^--/, "")}${takesValue ? " -r" : ""}` : `-a ${text}`;
  return `complete -c lazaret -n "__lazaret_at '${path}'" ${what} -d '${description.replace(/['\\]/g, "\\$&")}'`;
}
