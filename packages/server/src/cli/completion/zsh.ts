import { type CommandWords, steps } from "./command-words.ts";

export function zshCompletion(commands: readonly CommandWords[]): string {
  const follow = steps(commands).map(({ path, name }) => {
    return `      "${path} ${name}") command="${path === "" ? name : `${path} ${name}`}" ;;`;
  });
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
${follow.join("\n")}
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
