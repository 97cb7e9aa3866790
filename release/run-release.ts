// npm run release -- [<version> | major | minor | patch] [--dry-run] [--out <folder>]

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { problemsOf } from "./checks.ts";
import { packAll } from "./pack.ts";
import { root, run } from "./project.ts";
import { release } from "./release.ts";
import { billOfMaterials } from "./sbom.ts";

const { values, positionals } = parseArgs({
  options: {
    "dry-run": { type: "boolean", default: false },
    out: { type: "string", default: join(root, "dist/release") },
  },
  allowPositionals: true,
});
const epoch = process.env.SOURCE_DATE_EPOCH;

try {
  await release({
    root,
    out: resolve(values.out),
    asked: positionals[0],
    dryRun: values["dry-run"],
    epochSeconds: epoch === undefined ? undefined : Number(epoch),
    build,
    afterWriting(changes) {
      if (changes.has("deploy/helm/lazaret/Chart.yaml")) run(process.execPath, [join(root, "scripts/manifests.mjs")]);
    },
    say: (line) => console.log(line),
  });
} catch (error) {
  console.error(`lazaret: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

async function build(out: string, version: string, epochSeconds: number): Promise<void> {
  for (const tarball of Object.values(packAll(out, version))) {
    const problems = await problemsOf(tarball);
    if (problems.length > 0) throw new Error(`${tarball} cannot be published:\n${problems.join("\n")}`);
  }
  // The service carries the client and the pages of the console.
  const contents = { lazaret: ["packages/server", "packages/console"], "lazaret-client": ["packages/client"] };
  for (const [name, folders] of Object.entries(contents)) {
    writeFileSync(join(out, `${name}-${version}.cdx.json`), await billOfMaterials(folders, version, epochSeconds));
  }
}
