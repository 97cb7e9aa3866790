import { type CommandWords, steps, type Word } from "./command-words.ts";

export function fishCompletion(commands: readonly CommandWords[]): string {
  const follow = steps(commands).map(({ path, name }) => {
    return `      case '${path} ${name}'\n        set path '${path === "" ? name : `${path} ${name}`}'`;
  });
  const offers = commands.flatMap(({ path, words }) => words.map((word) => line(path, word)));
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

function line(path: string, { text, description, kind, takesValue }: Word): string {
  const what = kind === "option" ? `-l ${text.replace(/^--/, "")}${takesValue ? " -r" : ""}` : `-a ${text}`;
  return `complete -c lazaret -n "__lazaret_at '${path}'" ${what} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, "\\$&")}'`;
}
