import { Command } from "commander";
import { envName, settingNames } from "../settings/read-settings.ts";
import { settingsTable } from "../settings.ts";
import { loadSettings } from "./load-settings.ts";
import { addSettingFlags } from "./setting-flags.ts";

export function configCommand(): Command {
  return addSettingFlags(new Command("config"))
    .description("show every setting, its value and where the value comes from")
    .action((flags: Record<string, string>) => {
      const { settings, origins } = loadSettings(flags, {});
      for (const name of settingNames) {
        const value = settingsTable[name].secret ? masked(settings[name]) : shown(settings[name]);
        process.stdout.write(`${envName(name)}=${value}  # ${origins[name]}: ${settingsTable[name].doc}\n`);
      }
    });
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(",") : String(value);
}

function masked(value: unknown): string {
  const count = Array.isArray(value) ? value.length : value ? 1 : 0;
  return count === 0 ? "" : `(${count} set, hidden)`;
}
