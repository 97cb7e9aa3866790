import { hash } from "node:crypto";
import { type SettingName, type Settings, settingsTable } from "../settings.ts";
import type { Origin } from "./read-settings.ts";
import { type ShownSetting, shownSettings } from "./shown-settings.ts";

/** What may be written down of settings: which are not as they come, and a digest of those that are no secrets. */
export interface SettingsFacts {
  changed: string;
  sha256: string;
  /** All of them, secrets masked. */
  shown: readonly ShownSetting[];
}

export function settingsFacts(settings: Settings, origins?: Readonly<Record<SettingName, Origin>>): SettingsFacts {
  const names = Object.keys(settingsTable) as SettingName[];
  const isChanged = (name: SettingName): boolean => {
    const usual = settingsTable[name].parse(settingsTable[name].default);
    return !("value" in usual) || JSON.stringify(usual.value) !== JSON.stringify(settings[name]);
  };
  // Not even a digest of secrets: a short password is found by trying.
  const shown = names.filter((name) => !settingsTable[name].secret).map((name) => [name, settings[name]]);
  return {
    changed: names.filter(isChanged).join(" "),
    sha256: hash("sha256", JSON.stringify(shown)),
    shown: shownSettings(settings, origins),
  };
}
