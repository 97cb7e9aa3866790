import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { CannotStart } from "../compose/cannot-start.ts";
import { flagName, type Origin, readSettings, type SettingsSources, settingNames } from "../settings/read-settings.ts";
import { type SettingName, type Settings, settingsTable } from "../settings.ts";

export interface LoadedSettings {
  settings: Settings;
  origins: Record<SettingName, Origin>;
}

/** Settings from flags, environment and lazaret.json in the working folder; all problems at once as one error. */
export function loadSettings(
  flags: SettingsSources["flags"],
  defaults: Partial<Record<SettingName, string>>,
): LoadedSettings {
  const read = readSettings({ flags, env: process.env, file: readSettingsFile(), defaults });
  if (read.kind === "ok") return read;
  const lines = read.problems.map(
    ({ name, problem, hint }) => `  ${name} ${problem}${hint ? `\n    hint: ${hint}` : ""}`,
  );
  throw new CannotStart(`the settings have problems:\n${lines.join("\n")}`, "lazaret config lists every setting");
}

/** lazaret.json in the working folder, if there is one. */
export function readSettingsFile(): Record<string, unknown> {
  const path = "lazaret.json";
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw new CannotStart(`cannot read ${path}: ${(error as Error).message}`, "mend it or move it away", {
      cause: error,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CannotStart(`${path} is not valid JSON: ${(cause as Error).message}`, "mend it or move it away", {
      cause,
    });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new CannotStart(`${path} is not a JSON object`, `for example {"port": ${settingsTable.port.default}}`);
  }
  return value as Record<string, unknown>;
}

/** The group of these flags in a command's help. */
export const SETTINGS_GROUP = "Settings (also as LAZARET_… variables or in lazaret.json):";

/** A flag for every setting, or for some, that is not a secret: secrets on a command line are seen by the whole machine. */
export function addSettingFlags(command: Command, names: readonly SettingName[] = settingNames): Command {
  for (const name of names) {
    const row = settingsTable[name];
    if (!row.secret)
      command.addOption(command.createOption(`${flagName(name)} <value>`, row.doc).helpGroup(SETTINGS_GROUP));
  }
  return command;
}
