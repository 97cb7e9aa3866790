import { type Command, Option } from "commander";
import { flagName, settingNames } from "../../settings/read-settings.ts";
import { type SettingName, settingsTable } from "../../settings.ts";

/** The group of these flags in a command's help. */
export const SETTINGS_GROUP = "Settings (also as LAZARET_… variables or in lazaret.json):";

/** A flag for every setting, or for some, that is not a secret: secrets on a command line are seen by the whole machine. */
export function addSettingFlags(command: Command, names: readonly SettingName[] = settingNames): Command {
  for (const name of names) {
    const row = settingsTable[name];
    if (!row.secret) command.addOption(new Option(`${flagName(name)} <value>`, row.doc).helpGroup(SETTINGS_GROUP));
  }
  return command;
}
