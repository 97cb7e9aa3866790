import { type CommandWords, steps } from "./command-words.ts";

/** For bash 3.2 and later. */
export function bashCompletion(commands: readonly CommandWords[]): string {
  const follow = steps(commands).map(({ path, name }) => {
    return `      "${path} ${name}") command="${path === "" ? name : `${path} ${name}`}" ;;`;
  });
  const offers = commands.map(({ path, words }) => {
    return `    "${path}") offered="${words.map(({ text }) => text).join(" ")}" ;;`;
  });
  return `# lazaret for bash: source <(lazaret completion bash)
_lazaret() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" offered="" word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$command $word" in
${follow.join("\n")}
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
