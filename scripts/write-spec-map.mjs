// Writes the last column of docs/spec-map.md anew from the tags of the tests. Needs Node 24: run it by npm.
import { readFileSync, writeFileSync } from "node:fs";
import { specMap, specTags, withTests } from "../packages/server/test/docs/spec-map.ts";

writeFileSync(specMap, withTests(readFileSync(specMap, "utf8"), specTags()));
