// Scans the files of this machine's own packages with the built-in rules, none of which should match any of them.
//   node scripts/false-positives.mjs [folder…]        /usr/share and /usr/lib unless told otherwise
import { spawnSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { opendir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownNode, root } from "./setup.mjs";

/** Folders that are left out, and why. */
const EXCLUDED = { "/usr/share/clamav-testfiles": "holds ClamAV's test file, which a rule is made for" };
const LEAST_FILES = 5000;
const AT_ONCE = 4;

if (Number(process.versions.node.split(".")[0]) < 24) {
  const again = spawnSync(ownNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(again.status ?? 1);
}

const { rulesEngine } = await import(join(root, "packages/server/src/engines/rules/rules-engine.ts"));
const folders = process.argv.length > 2 ? process.argv.slice(2) : ["/usr/share", "/usr/lib"];
const engine = await rulesEngine({ onEvent: (event) => console.error(event) });
const seen = { files: 0, bytes: 0, hits: [], unscannable: new Map(), unreadable: 0 };
const started = performance.now();

const walk = filesOf(folders);
await Promise.all(Array.from({ length: AT_ONCE }, scanRest));
await engine.close();
report();
process.exitCode = seen.hits.length > 0 || seen.files < LEAST_FILES ? 1 : 0;

async function scanRest() {
  for await (const path of walk) {
    try {
      const { size } = await stat(path);
      const verdict = await engine.scan(createReadStream(path), AbortSignal.timeout(120_000));
      seen.files += 1;
      seen.bytes += size;
      if (verdict.kind === "infected") seen.hits.push(`${verdict.finding} ${path}`);
      if (verdict.kind === "unscannable") note(verdict.finding, path);
    } catch (error) {
      seen.unreadable += 1;
      console.error(`not read: ${path}: ${error.message}`);
    }
  }
}

function note(finding, path) {
  seen.unscannable.set(finding, [...(seen.unscannable.get(finding) ?? []), path]);
}

/** Plain files only: a link leads to a file that is scanned where it is. */
async function* filesOf(paths) {
  for (const folder of paths) {
    if (folder in EXCLUDED) continue;
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* filesOf([path]);
      if (entry.isFile()) yield path;
    }
  }
}

function report() {
  const seconds = (performance.now() - started) / 1000;
  for (const [folder, why] of Object.entries(EXCLUDED)) console.log(`left out: ${folder} (${why})`);
  console.log(`scanned: ${seen.files} files, ${(seen.bytes / 1e6).toFixed(0)} MB, in ${seconds.toFixed(0)} s`);
  if (seen.unreadable > 0) console.log(`not read: ${seen.unreadable} files`);
  for (const [finding, paths] of seen.unscannable) {
    console.log(`${finding}: ${paths.length} files`);
    for (const path of paths) console.log(`  ${path}`);
  }
  console.log(`false positives: ${seen.hits.length}`);
  for (const hit of seen.hits) console.log(`  ${hit}`);
}
