// npm run proof: every container we know of with a payload inside, shown to every set-up. None of them may be called clean.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Container } from "../packages/server/test/fixtures/corpus/container.ts";
import { type CorpusFile, corpus } from "../packages/server/test/fixtures/corpus/corpus.ts";
import { byHash } from "../packages/server/test/fixtures/corpus/payloads.ts";
import { type Answer, ask, madeOr, startSetUps } from "../packages/server/test/fixtures/corpus/set-ups.ts";
import { isInstalled } from "./programs.ts";
import { tally } from "./table.ts";
import { type Truth, truthOf } from "./truth.ts";

const AT_ONCE = 4;

const { values } = parseArgs({
  options: {
    /** Classes and names that match. */
    only: { type: "string", default: "" },
    /** So many files, spread over all. */
    limit: { type: "string" },
    /** Names them, and does nothing else. */
    list: { type: "boolean", default: false },
    /** Writes them into a folder, and does nothing else. */
    save: { type: "string" },
    /** The same containers with a harmless content: where do we cry wolf? */
    control: { type: "boolean", default: false },
    /** Does not ask other programs whether they get the payload out. */
    unchecked: { type: "boolean", default: false },
  },
});

const say = (text: string): unknown => process.stderr.write(`proof: ${text}\n`);
const print = (text: string): unknown => process.stdout.write(`${text}\n`);

/** Ended early, it reports what it has. */
const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

const chosen = select();
if (values.list) for (const file of chosen) print(nameOf(file));
else if (values.save !== undefined) save(values.save);
else await prove();

function select(): CorpusFile[] {
  const pattern = new RegExp(values.only, "i");
  const kinds = values.control ? (["nobody"] as const) : (["clamd", "rule"] as const);
  const all = kinds.flatMap((kind) => [...corpus(kind)]).filter((file) => pattern.test(nameOf(file)));
  const needed = new Set(all.flatMap(({ layers }) => layers.flatMap(({ needs }) => needs)));
  const missing = [...needed].filter((name) => !isInstalled(name));
  if (missing.length > 0) say(`left out, for want of ${missing.join(", ")}: what only they make`);
  const possible = all.filter(
    ({ layers }) => !layers.some(({ needs }) => needs.some((name) => missing.includes(name))),
  );
  const limit = Math.min(possible.length, Number(values.limit ?? possible.length));
  const at = (index: number): number => Math.floor((index * possible.length) / limit);
  return Array.from({ length: limit }, (_, index) => possible[at(index)] as CorpusFile);
}

function nameOf({ kind, name, payload }: CorpusFile): string {
  return `[${kind}] ${name} (${payload.name})`;
}

function save(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [index, file] of chosen.entries()) {
    const name = `${index} ${file.name} ${file.payload.name}`.replaceAll(/[^a-zA-Z0-9]+/g, "-");
    const content = madeOr(file);
    if (content) writeFileSync(join(folder, `${name.slice(0, 150)}${file.layers[0]?.extension}`), content);
  }
  say(`${chosen.length} files are in ${folder}`);
}

async function prove(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "lazaret-proof-"));
  try {
    const truths = new Map(values.unchecked ? [] : checkTruth(chosen));
    const counted = chosen.filter(({ layers }) => !layers.some((layer) => truths.get(layer)?.kind === "refuted"));
    await using setUps = await startSetUps(folder, AT_ONCE);
    const said = tally(counted.map(({ kind }) => kind));
    const waiting = counted.values();
    let done = 0;
    const work = async (): Promise<void> => {
      for (const file of waiting) {
        if (stop.signal.aborted) return;
        for (const answer of await ask(setUps, file)) said.add(answer);
        done += 1;
        if (done % 500 === 0) say(`${done} of ${counted.length} files`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    report(said, { truths, dropped: chosen.length - counted.length, files: done });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkTruth(files: readonly CorpusFile[]): [Container, Truth][] {
  const containers = [...new Set(files.flatMap(({ layers }) => layers))];
  say(`asking other programs about ${containers.length} containers`);
  return containers.map((container) => [container, truthOf(container, byHash.content)]);
}

function report(
  said: ReturnType<typeof tally>,
  { truths, dropped, files }: { truths: ReadonlyMap<Container, Truth>; dropped: number; files: number },
): void {
  const of = (kind: Truth["kind"]): Container[] => [...truths.keys()].filter((each) => truths.get(each)?.kind === kind);
  print(said.table());
  print(`\n${files} files, ${said.total} verdicts. Containers that another program opens: ${of("proved").length};`);
  print(
    `that nobody was asked about: ${of("unasked").length}; that nobody opens: ${of("refuted").length}, left out with`,
  );
  print(`the ${dropped} files that have one of them.`);
  for (const { kind, name } of of("refuted")) print(`- nobody opens ${kind}/${name}`);
  list("No verdict", said.of("failed"));
  if (values.control) {
    const wolves = said.of("no", "infected", "other");
    const ordinary = wolves.filter(({ file }) => isOrdinary(file));
    list("Ordinary, and not clean", ordinary);
    list(
      "Odd, and not clean",
      wolves.filter((answer) => !ordinary.includes(answer)),
    );
    process.exitCode = ordinary.length > 0 || said.of("failed").length > 0 ? 1 : 0;
    return;
  }
  list("Infected by another name", said.of("other"));
  list(
    "No, though nobody needs a key",
    said.of("no").filter(({ file }) => !file.layers.some(({ locked }) => locked)),
  );
  list("CLEAN", said.of("clean"));
  process.exitCode = said.of("clean", "failed").length > 0 ? 1 : 0;
}

/** Files that people send, in every layer. */
function isOrdinary({ layers }: CorpusFile): boolean {
  return layers.every(({ ordinary }) => ordinary);
}

function list(title: string, answers: readonly Answer[]): void {
  print(`\n${title}: ${answers.length}`);
  for (const { setUp, file, status, finding } of answers) {
    print(`- ${setUp}: ${nameOf(file)}${status === "clean" ? "" : `: ${status} ${finding}`}`);
  }
}
