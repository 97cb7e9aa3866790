import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { contractMutants } from "./contract-mutants.ts";
import type { Mutant, TestChoice } from "./mutant.ts";
import { noticedBy } from "./noticed-by.ts";
import { rowMutants } from "./row-mutants.ts";
import { runTests } from "./run-tests.ts";
import { knownSurvivors } from "./survivors.ts";
import { copyTree, type TreeCopy } from "./tree-copy.ts";

/**
 * npm run mutants: breaks every number and word of the contract, and every row of docs/spec-map.md, one at a time, in a copy
 * of the repository, and runs the tests that ought to notice. `--only <pattern>` takes some of them, `--list` shows them,
 * `--jobs <n>` breaks so many at once, each in a copy of its own.
 */
const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    list: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
  },
});

const asked = new WeakMap<TreeCopy, Map<string, string | undefined>>();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const only = new RegExp(values.only);
const all = [...contractMutants(root, noticedBy), ...rowMutants(root)].filter(({ name }) => only.test(name));
if (values.list) {
  for (const { name } of all) console.log(name);
} else {
  process.exitCode = (await breakAll(all, Number(values.jobs))) ? 0 : 1;
}

type Outcome =
  | { kind: "noticed"; by: string }
  | { kind: "survived" }
  /** The tests fail without any break, so they say nothing about this one. */
  | { kind: "unclear"; why: string };

/** True when every break was noticed, or is known not to be. */
async function breakAll(mutants: readonly Mutant[], jobs: number): Promise<boolean> {
  const started = performance.now();
  const left = [...mutants];
  const outcomes = new Map<string, Outcome>();
  const work = async (): Promise<void> => {
    using copy = copyTree(root);
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const outcome = await outcomeIn(copy, mutant);
      outcomes.set(mutant.name, outcome);
      const detail = outcome.kind === "noticed" ? outcome.by : outcome.kind === "unclear" ? outcome.why : "nobody";
      console.log(`${outcome.kind.padEnd(8)}  ${mutant.name}  ← ${detail}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, work));

  const of = (kind: Outcome["kind"]): string[] =>
    [...outcomes].filter(([, each]) => each.kind === kind).map(([name]) => name);
  const [survived, unclear] = [of("survived"), of("unclear")];
  const seconds = Math.round((performance.now() - started) / 1000);
  const counts = `${of("noticed").length} noticed, ${survived.length} survived, ${unclear.length} unclear`;
  console.log(`\n${mutants.length} breaks: ${counts}, in ${seconds} s`);
  for (const name of survived) console.log(`  survived: ${name}: ${knownSurvivors[name] ?? "not known"}`);
  for (const name of unclear) console.log(`  unclear: ${name}`);
  return unclear.length === 0 && survived.every((name) => name in knownSurvivors);
}

async function outcomeIn(copy: TreeCopy, mutant: Mutant): Promise<Outcome> {
  let unsound: string | undefined;
  for (const choice of mutant.tests) {
    const why = await unsoundness(copy, choice);
    unsound ??= why;
    if (why !== undefined) continue;
    using _ = copy.breakWith(mutant);
    const run = await runTests(copy.path, choice);
    if (run.kind === "failed") return { kind: "noticed", by: run.began ? run.test : `${run.test} could not begin` };
  }
  return unsound === undefined ? { kind: "survived" } : { kind: "unclear", why: unsound };
}

/** Tests are asked unbroken first, once in each copy: one that fails anyway, or is not there, shows nothing. */
async function unsoundness(copy: TreeCopy, choice: TestChoice): Promise<string | undefined> {
  const key = `${choice.file} ${choice.pattern ?? ""}`;
  const known = asked.get(copy) ?? new Map<string, string | undefined>();
  asked.set(copy, known);
  if (!known.has(key)) {
    const run = await runTests(copy.path, choice);
    const failed = run.kind === "failed" ? `${key} fails without any break: ${run.test}` : undefined;
    known.set(key, run.kind === "passed" && run.count === 0 ? `${key}: there is no such test` : failed);
  }
  return known.get(key);
}
