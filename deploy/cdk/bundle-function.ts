import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";

/** Parts of engines, which a function that only takes in jobs never loads. Were one loaded, it would fail loudly. */
const ENGINE_PARTS = ["@virustotal/yara-x", "7z-wasm"];
const server = fileURLToPath(new URL("../../packages/server/", import.meta.url));

/** Of the bundle: module and export. */
export const HANDLER = "src/index.handler";

/**
 * Puts a file of the server's and all it needs into a folder for Lambda. What the server loads only when it is chosen
 * stays in files of its own. Needs the packages of the project itself.
 */
export async function bundleFunction(entry: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await build({
    entryPoints: { index: join(server, entry) },
    outdir: join(folder, "src"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    minify: true,
    platform: "node",
    target: "node24",
    format: "esm",
    external: ENGINE_PARTS,
    // Some packages are written for require, which modules do not have.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "warning",
  }).finally(stop);
  // The files of the reference at /docs lie beside the code that serves them.
  await cp(join(server, "src/receive/reference/page"), join(folder, "src/page"), { recursive: true });
  // The server reads its version from the folder above its sources.
  const { version } = JSON.parse(await readFile(join(server, "package.json"), "utf8"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ version, type: "module" }));
}
