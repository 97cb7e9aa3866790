import { Command } from "commander";
import { shownSettings } from "../settings/shown-settings.ts";
import { withExamples } from "./examples.ts";
import { addSettingFlags, loadSettings } from "./load-settings.ts";
import { out } from "./terminal/output.ts";

export function configCommand(): Command {
  const show = new Command("show")
    .description("every setting and its value")
    .option("--origin", "also where the value comes from, and what it means");
  addSettingFlags(show).action(({ origin = false, ...flags }: Record<string, string | boolean>) =>
    showSettings(flags as Record<string, string>, Boolean(origin)),
  );
  withExamples(show, [
    ["config show", "in the form of a .env file"],
    ["config show --origin", "and where each comes from"],
  ]);
  const command = addSettingFlags(new Command("config"))
    .description("show every setting, its value and where the value comes from")
    .enablePositionalOptions()
    .action((flags: Record<string, string>) => showSettings(flags, true))
    .addCommand(show);
  return withExamples(command, [
    ["config", "the same as lazaret config show --origin"],
    ["config | grep -v '# default'", "what somebody has set"],
  ]);
}

function showSettings(flags: Record<string, string>, withOrigin: boolean): void {
  const { settings, origins } = loadSettings(flags, {});
  for (const { variable, value, origin, doc } of shownSettings(settings, origins)) {
    out(`${variable}=${value}${withOrigin ? `  # ${origin}: ${doc}` : ""}\n`);
  }
}
