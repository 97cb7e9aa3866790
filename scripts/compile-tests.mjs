// Strips and compiles the test files named, for the compile cache: each is run once, by a process of its own, and loading what
// strips types would be much of what most of them take. Nothing of them is run, and nothing that they import is loaded: that is kept
// by the first who uses it, with what it has used.
import { globSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const files = globSync(process.argv.slice(2)).map((path) => pathToFileURL(resolve(path)).href);
registerHooks({
  resolve: (specifier, context, next) =>
    files.includes(specifier) ? next(specifier, context) : { url: "data:text/javascript,", shortCircuit: true },
});
// What they import has no exports here: each ends before it begins.
for (const file of files) await import(file).catch(() => {});
