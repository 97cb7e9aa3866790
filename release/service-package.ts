import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { compile, keepDeclarations, missingBeside, rewriteImports } from "./compile.ts";
import { filesIn, manifestOf, root, runScript } from "./project.ts";

const entry = "packages/server/src/index";

/**
 * Files that are read at run time and that no compiler knows of. Each lies where it does in the project, so that the programs find it in
 * the same place.
 */
const readAtRunTime = [
  ...filesIn(join(root, "packages/server/src")).filter((path) => !/\.ts$|\/tsconfig\.json$/.test(path)),
  ...["packages/server/bin", "packages/server/rules", "packages/server/signatures"].flatMap((folder) =>
    filesIn(join(root, folder)),
  ),
  join(root, "deploy/clamd.conf"),
];

/** For operators, who have the package and no clone: docs/run-on-one-machine.md copies them from there. */
const forOperators = ["deploy/debian", "deploy/nginx", "deploy/systemd"].flatMap((folder) =>
  filesIn(join(root, folder)),
);

/** The contract and the client are part of the package: it can be installed from its tarball alone. */
const carried = {
  "@lazaret/contract": "packages/contract/src/index.js",
  "@lazaret/contract/admin": "packages/contract/src/admin.js",
  "@lazaret/client": "packages/client/src/index.js",
};

/** Writes the package `lazaret` as it is published to a folder that is empty or not there. */
export function stageService(folder: string, version: string): void {
  mkdirSync(folder, { recursive: true });
  compile("tsconfig.service.json", folder);
  for (const path of [...readAtRunTime, ...forOperators]) copy(path, folder);
  rewriteImports(folder, carried);
  keepDeclarations(folder, `${entry}.d.ts`);
  const built = join(folder, "packages/console/dist");
  runScript("vite/bin/vite.js", ["build", "--outDir", built, "--emptyOutDir", "--logLevel", "error"], {
    cwd: join(root, "packages/console"),
  });

  const { name, description, license, engines, dependencies = {} } = manifestOf("packages/server");
  const own = Object.entries(dependencies).filter(([name]) => !(name in carried));
  const manifest = {
    name,
    version,
    description,
    license,
    keywords: ["malware", "antivirus", "clamav", "yara", "scanner", "uploads"],
    type: "module",
    engines,
    bin: { lazaret: "packages/server/bin/lazaret.mjs" },
    exports: {
      ".": { types: `./${entry}.d.ts`, default: `./${entry}.js` },
      "./package.json": "./package.json",
    },
    dependencies: Object.fromEntries(own),
  };
  write(join(folder, "package.json"), manifest);
  // Where the programs ask which version they are.
  write(join(folder, "packages/server/package.json"), { name, version, type: "module" });
  cpSync(join(root, "packages/server/README.md"), join(folder, "README.md"));
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));

  const missing = missingBeside(folder);
  if (missing.length === 0) return;
  throw new Error(
    `the service reads what its package does not carry; name it in release/service-package.ts:\n${missing.join("\n")}`,
  );
}

function copy(path: string, folder: string): void {
  const target = join(folder, path.slice(root.length));
  mkdirSync(dirname(target), { recursive: true });
  cpSync(path, target);
}

function write(path: string, manifest: object): void {
  writeFileSync(path, `${JSON.stringify(manifest, null, 2)}\n`);
}
