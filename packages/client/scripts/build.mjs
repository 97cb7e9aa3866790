// npm run build -w @lazaret/client: writes the package as it is published, ESM and types, to dist or the folder named.
// Then `npm pack ./dist` or `npm publish ./dist`. The manifest here is the workspace's own and points to the sources.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const root = join(here, "../..");
const out = resolve(process.argv[2] ?? join(here, "dist"));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const tsc = join(root, "node_modules/typescript/bin/tsc");
const args = [tsc, "-p", join(here, "tsconfig.build.json"), "--outDir", out];
const { status } = spawnSync(process.execPath, args, { stdio: "inherit" });
if (status !== 0) process.exit(1);

// The compiler turns .ts into .js in the programs' imports, but not in the declarations'.
for (const name of readdirSync(out, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".d.ts")) continue;
  const path = join(out, name);
  writeFileSync(path, readFileSync(path, "utf8").replace(/"(\.{1,2}\/[^"]+)\.ts"/g, '"$1.js"'));
}

const { name, version, description, license } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
const manifest = {
  name,
  version,
  description,
  license,
  type: "module",
  sideEffects: false,
  engines: { node: ">=20" },
  exports: { ".": { types: "./client/src/index.d.ts", default: "./client/src/index.js" } },
};
writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
copyFileSync(join(here, "README.md"), join(out, "README.md"));
copyFileSync(join(root, "LICENSE"), join(out, "LICENSE"));
