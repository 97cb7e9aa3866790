import { type Command, Option } from "commander";
import { flagName, settingNames } from "../settings/read-settings.ts";
import { settingsTable } from "../settings.ts";

/** A flag for every setting that is not a secret: secrets on a command line are seen by the whole machine. */
export function addSettingFlags(command: Command): Command {
  for (const name of settingNames) {
    const row = settingsTable[name];
    if (!row.secret) command.addOption(new Option(`${flagName(name)} <value>`, row.doc));
  }
  return command;
}
