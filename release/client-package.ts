import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, keepDeclarations, rewriteImports } from "./compile.ts";
import { filesIn, manifestOf, root } from "./project.ts";

const entry = "client/src/index";

/** Writes the package `@lazaret/client` as it is published to a folder that is empty or not there: the same twice, as ESM and as CommonJS. */
export function stageClient(folder: string, version: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [format, project] of [
    ["esm", "tsconfig.client.json"],
    ["cjs", "tsconfig.client-cjs.json"],
  ] as const) {
    const out = join(folder, format);
    compile(project, out);
    rewriteImports(out);
    keepDeclarations(out, `${entry}.d.ts`);
    for (const path of filesIn(out)) if (path.endsWith(".d.ts")) forOlderCompilers(path);
  }
  writeFileSync(join(folder, "cjs/package.json"), '{ "type": "commonjs" }\n');

  const { name, description, license } = manifestOf("packages/client");
  const as = (format: string): object => ({ types: `./${format}/${entry}.d.ts`, default: `./${format}/${entry}.js` });
  const manifest = {
    name,
    version,
    description,
    license,
    keywords: ["lazaret", "malware", "antivirus", "scanner", "uploads"],
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    // For compilers and bundlers that do not read exports.
    main: `./cjs/${entry}.js`,
    types: `./cjs/${entry}.d.ts`,
    exports: { ".": { import: as("esm"), require: as("cjs") }, "./package.json": "./package.json" },
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(root, "packages/client/README.md"), join(folder, "README.md"));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
}

/** Before TypeScript 5.7 there was one kind of Uint8Array. */
function forOlderCompilers(path: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replaceAll("Uint8Array<ArrayBuffer>", "Uint8Array"));
}
