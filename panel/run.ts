// npm run panel: changes containers a few bytes at a time, and asks readers that others wrote whether they give the payload out.
// A payload that any of them gives out and we call clean is a hole.
import { appendFileSync, chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEngine } from "../packages/server/src/engines/variants.ts";
import { statusOf } from "../packages/server/src/model/verdict.ts";
import type { Engine } from "../packages/server/src/scan/engine.ts";
import { writeRules } from "../packages/server/test/fixtures/corpus/payloads.ts";
import { startSetUps } from "../packages/server/test/fixtures/corpus/set-ups.ts";
import {
  type Candidate,
  candidate,
  containersHere,
  filesByOthers,
  type Source,
  sourcesOf,
  writeMarkers,
} from "./candidates.ts";
import { judge, type Said, tally } from "./judge.ts";
import { smallest } from "./mutate.ts";
import { type Panel, readersHere, startPanel } from "./readers.ts";

const AT_ONCE = 2;
/** One in so many of the files that we do not call clean is shown to the readers: do they still open what is changed? */
const SAMPLED = 20;
const SCAN_LIMIT_MS = 120_000;

const { values } = parseArgs({
  options: {
    /** So long, so many files, or so many of each container. */
    minutes: { type: "string" },
    count: { type: "string" },
    rounds: { type: "string" },
    /** Only containers that are made without other programs: the same files on every machine. */
    "by-hand": { type: "boolean", default: false },
    /** The same files for the same seed. */
    seed: { type: "string", default: "1" },
    /** Begins with this one, and does only this one unless --count, --rounds or --minutes says more. */
    index: { type: "string" },
    /** Containers whose class and name match. */
    only: { type: "string", default: "" },
    /** Files that others made are changed too. */
    files: { type: "string" },
    /** Holes are written there, with holes.md and the rules that know their payloads. */
    save: { type: "string" },
    /** `P` alone, or `all`: Q and P with clamd as well. */
    "set-ups": { type: "string", default: "P" },
  },
});

const say = (text: string): unknown => process.stderr.write(`panel: ${text}\n`);
const print = (text: string): unknown => process.stdout.write(`${text}\n`);

/** Ended early, it reports what it has. */
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

const folder = mkdtempSync(join(tmpdir(), "lazaret-panel-"));
chmodSync(folder, 0o755);
try {
  await work();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

type Engines = AsyncDisposable & { all: readonly { name: string; engine: Engine }[] };

async function startEngines(): Promise<Engines> {
  if (values["set-ups"] === "all") return startSetUps(folder, AT_ONCE);
  const rules = { rulesDir: join(folder, "rules"), temporaryFolder: folder };
  const engine = await startEngine({ variant: "P", clamd: undefined, concurrency: AT_ONCE, rules });
  return { all: [{ name: "P alone", engine }], [Symbol.asyncDispose]: () => engine.close() };
}

async function work(): Promise<void> {
  const { here, missing } = readersHere();
  if (missing.length > 0) say(`readers that are not installed, and left out: ${missing.join(", ")}`);
  await using panels = startPanels(here);
  const containers = containersHere(new RegExp(values.only, "i"), values["by-hand"]);
  const others = values.files === undefined ? [] : await filesByOthers(values.files, panels.all[0] as Panel);
  for (const name of ["rules", "signatures"]) mkdirSync(join(folder, name));
  writeRules(join(folder, "rules"));
  writeMarkers({ rules: join(folder, "rules"), signatures: join(folder, "signatures") }, others);
  await using engines = await startEngines();

  const sources: Source[] = [
    ...sourcesOf(containers),
    ...others.map((other) => ({ name: other.name, plain: () => other, varied: () => other })),
  ];
  say(`${containers.length} containers and ${others.length} files by others; ${here.length} readers`);
  if (values.index === undefined) await checkUnchanged(sources, engines);

  const results = tally();
  const from = Number(values.index ?? 0);
  const rounds = values.rounds && Number(values.rounds) * sources.length;
  const count = Number(
    values.count ?? rounds ?? (values.minutes === undefined ? (values.index === undefined ? 1_000 : 1) : Infinity),
  );
  const until = Date.now() + Number(values.minutes ?? Infinity) * 60_000;
  let next = from;
  const lane = async (panel: Panel): Promise<void> => {
    while (next < from + count && Date.now() < until && !stop.signal.aborted) {
      const index = next++;
      await consider(candidate(sources, values.seed, index), { engines, panel, results });
      if ((index + 1) % 1_000 === 0)
        say(`${index + 1} files, ${results.total.clean} clean, ${results.total.holes} holes`);
    }
  };
  await Promise.all(panels.all.map(lane));
  print(results.table());
  const { files, asked, given, holes, failed } = results.total;
  const sampled = asked - results.total.clean;
  print(
    `\nSeed ${values.seed}: ${files} files, ${failed} without a verdict. All that we call clean were shown to the readers, and`,
  );
  print(`${sampled} of the others, of which ${given - holes} still hold the payload for some reader. Holes: ${holes}.`);
  if (holes > 0 || failed > 0) process.exitCode = 1;
}

function startPanels(here: readonly string[]): AsyncDisposable & { all: readonly Panel[] } {
  const all = Array.from({ length: AT_ONCE }, () => startPanel(mkdtempSync(join(folder, "readers-")), here));
  return {
    all,
    [Symbol.asyncDispose]: async () => void (await Promise.all(all.map((panel) => panel[Symbol.asyncDispose]()))),
  };
}

async function checkUnchanged(sources: readonly Source[], engines: Engines): Promise<void> {
  let found = 0;
  for (const { name, plain } of sources) {
    const { around, inner } = plain();
    const said = await ask(engines, around(inner));
    if (said.every(({ status }) => status === "infected")) found += 1;
    for (const { setUp, status } of said) {
      if (status !== "clean" && status !== "failed") continue;
      print(`- ${setUp}: ${status} without any change: ${name}`);
      process.exitCode = 1;
    }
  }
  say(`unchanged: the payload is found in ${found} of ${sources.length}`);
}

async function ask({ all }: Engines, file: Buffer): Promise<Said[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield file;
  }
  return Promise.all(
    all.map(async ({ name: setUp, engine }) => {
      try {
        return { setUp, status: statusOf(await engine.scan(bytes(), AbortSignal.timeout(SCAN_LIMIT_MS))) };
      } catch (error) {
        say(`${setUp} gave no verdict: ${error instanceof Error ? error.message : String(error)}`);
        return { setUp, status: "failed" };
      }
    }),
  );
}

async function consider(
  { index, base, mutations, file }: Candidate,
  { engines, panel, results }: { engines: Engines; panel: Panel; results: ReturnType<typeof tally> },
): Promise<void> {
  const said = await ask(engines, file);
  const { isClean } = judge(said, []);
  const isSampled = index % SAMPLED === 0 || values.index !== undefined;
  const asked = (changed: Buffer, all: boolean): Promise<string[]> => panel.ask({ ...base, file: changed, all });
  const givers = isClean || isSampled ? await asked(file, isSampled) : [];
  const judgement = judge(said, givers);
  results.add(base.kind, said, judgement);
  if (isClean || isSampled) results.asked(givers, judgement);
  if (values.index !== undefined) {
    print(`${index}: ${base.name}: ${mutations.map(({ what }) => what).join("; ")}`);
    print(
      `${said.map(({ setUp, status }) => `${setUp}: ${status}`).join(", ")}; given out by ${givers.join(", ") || "none"}`,
    );
  }
  if (judgement.holes.length === 0) return;

  const holds = async (changed: Buffer): Promise<boolean> => {
    const { isClean: isStillClean } = judge(await ask(engines, base.around(changed)), []);
    return isStillClean && (await asked(base.around(changed), false)).length > 0;
  };
  const best = await smallest(base.inner, mutations, holds);
  const hole = base.around(best.file);
  const by = await asked(hole, true);
  const line = `${index} | ${base.name} | ${best.mutations.map(({ what }) => what).join("; ")} | ${by.join(", ")} | ${judgement.holes.join(", ")}`;
  print(`HOLE | ${line}`);
  if (values.save !== undefined)
    save(values.save, { line, hole, name: `${values.seed}-${index}${base.extensions[0]}` });
}

function save(target: string, { line, hole, name }: { line: string; hole: Buffer; name: string }): void {
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, name), hole);
  cpSync(join(folder, "rules"), join(target, "rules"), { recursive: true });
  appendFileSync(join(target, "holes.md"), `| ${name} | ${line} |\n`);
}
