// Writes docs/evasions.md anew: shows every published evasion to Lazaret and to clamd. Needs Node 24: run it by npm.
import { writeFileSync } from "node:fs";
import { answerEvasions, evasionsPage } from "../proof/evasions-page.ts";

writeFileSync(new URL("../docs/evasions.md", import.meta.url), evasionsPage(await answerEvasions()));
