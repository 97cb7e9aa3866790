/** For programs that run the service inside themselves: `import { startService } from "lazaret"`. All else is the command line's. */
export type { RunningService, ServiceOptions } from "./app.ts";
export { startService } from "./app.ts";
export type { Log, LogOptions } from "./log.ts";
export { log } from "./log.ts";
export type { ReadSettings, SettingsSources } from "./settings/read-settings.ts";
export { readSettings } from "./settings/read-settings.ts";
export type { Settings } from "./settings.ts";
export { version } from "./version.ts";
