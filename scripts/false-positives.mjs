// Scans the files of this machine's own packages, in which there is nothing to find: no file may be infected, and hardly any
// may be `no`.
//   node scripts/false-positives.mjs [--engine P|Q] [--clamd none|own|unix:/path|tcp://host:port] [--sample N] [folder…]
// P alone, all files of /usr/share and /usr/lib unless told otherwise. `own` starts a clamd with the signatures of this
// repository; `--sample 20` takes every 20th file.
import { spawnSync } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fail, ownNode, root } from "./setup.mjs";

/** Folders that are left out, and why. */
const EXCLUDED = { "/usr/share/clamav-testfiles": "holds ClamAV's test file, which a rule is made for" };
const FOLDERS = ["/usr/share", "/usr/lib"];
/** Of the default folders, all of them scanned: fewer would prove nothing. */
const LEAST_FILES = 5000;
/** The share of files that may be `no`, in percent. */
const MOST_PERCENT = 0.05;
const AT_ONCE = 4;
/** A verdict that takes longer than this is none. */
const TIMEOUT_MS = 120_000;

if (Number(process.versions.node.split(".")[0]) < 24) {
  const again = spawnSync(ownNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(again.status ?? 1);
}

const { engine: variant, clamd: clamdWish, sample, folders } = readArguments();
const [{ startEngine }, { parseClamdAddress }, { ownClamd }] = await Promise.all([
  import("../packages/server/src/engines/variants.ts"),
  import("../packages/server/src/engines/clamd/address.ts"),
  import("../packages/server/src/engines/clamd/own-clamd.ts"),
]);

const temporaryFolder = mkdtempSync(join(tmpdir(), "lazaret-false-positives-"));
process.once("exit", () => rmSync(temporaryFolder, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const own = clamdWish === "own" ? await startOwnClamd() : undefined;
const clamd = clamdAddress();
const engine = await startEngine({
  variant,
  clamd,
  concurrency: AT_ONCE,
  rules: { temporaryFolder, onEvent: (event) => console.error(event) },
});

/** @type {{ files: number; bytes: number; infected: string[]; no: Map<string, string[]>; noVerdict: string[]; unreadable: number }} */
const seen = { files: 0, bytes: 0, infected: [], no: new Map(), noVerdict: [], unreadable: 0 };
const started = performance.now();
const progress = process.stderr.isTTY ? setInterval(showProgress, 500) : undefined;
const walk = every(sample, filesOf(folders));
await Promise.all(Array.from({ length: AT_ONCE }, scanRest));
clearInterval(progress);
if (progress) process.stderr.write("\r\x1b[K");
await engine.close();
await own?.stop();
process.exitCode = report() ? 0 : 1;

function readArguments() {
  const text = /** @type {const} */ ({ type: "string" });
  const options = { engine: text, clamd: text, sample: text };
  let parsed;
  try {
    parsed = parseArgs({ options, allowPositionals: true });
  } catch (error) {
    fail(error.message, "the first lines of scripts/false-positives.mjs say what there is");
  }
  const { engine = "P", clamd = engine === "Q" ? "own" : "none", sample = "1" } = parsed.values;
  if (engine !== "P" && engine !== "Q") fail(`there is no engine ${engine}`, "--engine P or --engine Q");
  if (engine === "Q" && clamd === "none") fail("engine Q is clamd", "--clamd own, or the address of one");
  if (!/^[1-9]\d*$/.test(sample)) fail(`a sample of ${sample} makes no sense`, "--sample 20 takes every 20th file");
  const folders = parsed.positionals.length > 0 ? parsed.positionals : FOLDERS;
  return { engine, clamd, sample: Number(sample), folders };
}

async function startOwnClamd() {
  const signaturesDir = join(root, "packages/server/signatures");
  return ownClamd({ folder: join(temporaryFolder, "clamd"), signaturesDir }).catch((error) =>
    fail(error.message, "name another clamd by its address, or scan without: --clamd none"),
  );
}

function clamdAddress() {
  if (clamdWish === "none") return undefined;
  const address = parseClamdAddress(own ? `unix:${own.socketPath}` : clamdWish);
  return address ?? fail(`${clamdWish} is no address of a clamd`, "--clamd none, own, unix:/path or tcp://host:port");
}

async function scanRest() {
  for await (const path of walk) {
    try {
      const { size } = await stat(path);
      const verdict = await engine.scan(createReadStream(path), AbortSignal.timeout(TIMEOUT_MS));
      seen.files += 1;
      seen.bytes += size;
      if (verdict.kind === "infected") seen.infected.push(`${verdict.finding} ${path}`);
      if (verdict.kind === "unscannable") note(verdict, path);
    } catch (error) {
      if (error.syscall === undefined) seen.noVerdict.push(`${path}: ${error.message}`);
      else seen.unreadable += 1;
    }
  }
}

/** @param {{ finding: string; detail?: string }} verdict */
function note({ finding, detail }, path) {
  const line = detail === undefined ? path : `${path}: ${detail}`;
  seen.no.set(finding, [...(seen.no.get(finding) ?? []), line]);
}

/** Plain files only: a link leads to a file that is scanned where it is. */
async function* filesOf(paths) {
  for (const folder of paths) {
    if (folder in EXCLUDED) continue;
    for (const entry of await entriesOf(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* filesOf([path]);
      if (entry.isFile()) yield path;
    }
  }
}

/** By name, so that a sample is the same in every run. */
async function entriesOf(folder) {
  try {
    return (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    seen.unreadable += 1;
    return [];
  }
}

async function* every(step, paths) {
  let index = 0;
  for await (const path of paths) {
    if (index % step === 0) yield path;
    index += 1;
  }
}

function noCount() {
  return [...seen.no.values()].reduce((sum, lines) => sum + lines.length, 0);
}

function showProgress() {
  const counts = `${seen.infected.length} infected, ${noCount()} no`;
  process.stderr.write(`\r\x1b[K${seen.files} files, ${(seen.bytes / 1e6).toFixed(0)} MB, ${counts}`);
}

/** Whether all is as it should be. */
function report() {
  const seconds = (performance.now() - started) / 1000;
  const percent = (100 * noCount()) / Math.max(1, seen.files);
  const enough = sample > 1 || folders !== FOLDERS || seen.files >= LEAST_FILES;

  for (const [folder, why] of Object.entries(EXCLUDED)) console.log(`left out: ${folder} (${why})`);
  console.log(`engine: ${variant}, clamd: ${clamdWish}${sample > 1 ? `, every ${sample}th file` : ""}`);
  console.log(`scanned: ${seen.files} files, ${(seen.bytes / 1e6).toFixed(0)} MB, in ${seconds.toFixed(0)} s`);
  if (!enough) console.log(`too few files: at least ${LEAST_FILES} are wanted`);
  if (seen.unreadable > 0) console.log(`not read: ${seen.unreadable} files or folders`);
  list("no verdict", seen.noVerdict);
  for (const [finding, lines] of seen.no) list(finding, lines);
  console.log(`no: ${noCount()} files, ${percent.toFixed(3)} % (at most ${MOST_PERCENT} %)`);
  list("infected", seen.infected);
  if (seen.infected.length === 0) console.log("infected: 0 files");
  return enough && seen.infected.length === 0 && seen.noVerdict.length === 0 && percent <= MOST_PERCENT;
}

function list(title, lines) {
  if (lines.length > 0) console.log(`${title}: ${lines.length} files`);
  for (const line of lines) console.log(`  ${line}`);
}
