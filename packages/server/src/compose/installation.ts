import { type Installation, latestAddOns } from "@lazaret/contract";
import type { Settings } from "../settings.ts";

/** The versions this installation declares. */
export function installationOf(settings: Settings): Installation {
  return { ...latestAddOns, variant: settings.engine, engineVersion: settings.engineVersion };
}
