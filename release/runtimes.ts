import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { npm, root } from "./project.ts";

/** The runtimes that packages are tried on, from the registry: `package@version → program` in it. */
const cpu = process.arch === "arm64" ? "aarch64" : process.arch;
const nodePackage = `node-${process.platform}-${process.arch}`;
const wanted = {
  /** Cannot load ESM by require(). */
  node20: [`${nodePackage}@20.18.1`, "bin/node"],
  node22: [`${nodePackage}@22.20.0`, "bin/node"],
  bun: [`@oven/bun-${process.platform}-${cpu}@1.4.4`, "bin/bun"],
  deno: [`@deno/${process.platform}-${process.arch}${process.platform === "linux" ? "-glibc" : ""}@2.9.5`, "deno"],
} as const;

export type Runtimes = Record<keyof typeof wanted | "node24", string>;

/** Installs them once, beside the project's packages, and answers their programs. */
export function installRuntimes(): Runtimes {
  const found = Object.entries(wanted).map(([name, [spec, program]]) => {
    const folder = join(root, "node_modules/.cache/lazaret-runtimes", spec.replaceAll("/", "-"));
    const path = join(folder, "node_modules/runtime", program);
    if (!existsSync(path)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "package.json"), '{ "private": true }');
      npm(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", `runtime@npm:${spec}`], {
        cwd: folder,
      });
    }
    return [name, path];
  });
  return { ...Object.fromEntries(found), node24: process.execPath } as Runtimes;
}

/** A folder with `node` and `npm` for PATH, so that what npm installs and starts is run by this Node. */
export function pathWith(folder: string, node: string, npmScript: string): string {
  mkdirSync(folder, { recursive: true });
  cpSync(node, join(folder, "node"));
  for (const name of ["npm", "npx"]) {
    const script = npmScript.replace(/npm-cli\.js$/, `${name}-cli.js`);
    writeFileSync(join(folder, name), `#!/bin/sh\nexec "${join(folder, "node")}" "${script}" "$@"\n`, { mode: 0o755 });
  }
  return `${folder}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
}
