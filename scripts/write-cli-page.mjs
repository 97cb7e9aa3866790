// Writes docs/cli.md anew from the commands. Needs Node 24: run it by npx or npm.
import { writeFileSync } from "node:fs";
import { cliPage } from "../packages/server/src/cli/cli-page.ts";

writeFileSync(new URL("../docs/cli.md", import.meta.url), await cliPage());
