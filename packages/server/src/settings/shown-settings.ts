import { type SettingName, type Settings, settingsTable } from "../settings.ts";
import { envName, type Origin, settingNames } from "./read-settings.ts";

/** A setting for people's eyes. */
export interface ShownSetting {
  name: SettingName;
  variable: string;
  /** Of a secret, how many there are. */
  value: string;
  default: string;
  /** `set` where nobody knows where. */
  origin: Origin | "set";
  secret: boolean;
  doc: string;
}

export function shownSettings(settings: Settings, origins?: Readonly<Record<SettingName, Origin>>): ShownSetting[] {
  return settingNames.map((name) => {
    const { doc, default: usual, secret = false } = settingsTable[name];
    const value = secret ? masked(settings[name]) : shown(settings[name]);
    const origin = origins?.[name] ?? (isUsual(name, settings[name]) ? "default" : "set");
    return { name, variable: envName(name), value, default: usual, origin, secret, doc };
  });
}

function isUsual(name: SettingName, value: unknown): boolean {
  const usual = settingsTable[name].parse(settingsTable[name].default);
  return "value" in usual && JSON.stringify(usual.value) === JSON.stringify(value);
}

function shown(value: unknown): string {
  const text = Array.isArray(value) ? value.join(",") : String(value);
  return text.replace(CREDENTIALS, "(hidden)");
}

/** User and password in an address, where they need not be, and yet may stand. */
const CREDENTIALS = /(?<=\b[a-z][\w+.-]*:\/\/)[^\s/?#]+(?=@)/gi;

function masked(value: unknown): string {
  const count = Array.isArray(value) ? value.length : value ? 1 : 0;
  return count === 0 ? "" : `(${count} set, hidden)`;
}
