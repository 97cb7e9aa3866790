// Writes docs/settings.md anew from the settings table. Needs Node 24: run it by npx or npm.
import { writeFileSync } from "node:fs";
import { settingsPage } from "../packages/server/src/settings/settings-page.ts";

writeFileSync(new URL("../docs/settings.md", import.meta.url), settingsPage());
