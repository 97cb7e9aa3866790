import { Argument, Command } from "commander";
import { bashCompletion } from "./completion/bash.ts";
import { commandWords } from "./completion/command-words.ts";
import { fishCompletion } from "./completion/fish.ts";
import { zshCompletion } from "./completion/zsh.ts";
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
