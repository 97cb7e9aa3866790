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

const sound = new WeakMap<TreeCopy, Set<string>>();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const only = new RegExp(values.only);
const all = [...contractMutants(root, noticedBy), ...rowMutants(root)].filter(({ name }) => only.test(name));
if (values.list) {
  for (const { name } of all) console.log(name);
} else {
  process.exitCode = (await breakAll(all, Number(values.jobs))) ? 0 : 1;
}

/** True when every break was noticed, or is known not to be. */
async function breakAll(mutants: readonly Mutant[], jobs: number): Promise<boolean> {
  const started = performance.now();
  const left = [...mutants];
  const survivors: string[] = [];
  let noticed = 0;
  const work = async (): Promise<void> => {
    using copy = copyTree(root);
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const by = await noticedIn(copy, mutant);
      if (by !== undefined) noticed += 1;
      else survivors.push(mutant.name);
      console.log(`${by === undefined ? "SURVIVED" : "noticed "}  ${mutant.name}${by ? `  ← ${by}` : ""}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, work));

  const unknown = survivors.filter((name) => !(name in knownSurvivors));
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(`\n${mutants.length} breaks: ${noticed} noticed, ${survivors.length} survived, in ${seconds} s`);
  for (const name of survivors)
    console.log(`  survived: ${name}${name in knownSurvivors ? `: ${knownSurvivors[name]}` : ""}`);
  return unknown.length === 0;
}

/** The test that noticed. Tests are asked unbroken first, once in each copy: one that fails anyway shows nothing. */
async function noticedIn(copy: TreeCopy, mutant: Mutant): Promise<string | undefined> {
  for (const choice of mutant.tests) {
    await mustPass(copy, choice);
    using _ = copy.breakWith(mutant);
    const run = await runTests(copy.path, choice);
    if (run.kind === "failed") return run.began ? run.test : `${run.test} could not begin`;
  }
  return undefined;
}

async function mustPass(copy: TreeCopy, choice: TestChoice): Promise<void> {
  const key = `${choice.file}\0${choice.pattern ?? ""}`;
  const seen = sound.get(copy) ?? new Set();
  sound.set(copy, seen);
  if (seen.has(key)) return;
  const run = await runTests(copy.path, choice);
  if (run.kind === "failed") throw new Error(`${choice.file} fails without any break: ${run.test}`);
  if (run.count === 0) throw new Error(`${choice.file} has no test that matches ${choice.pattern}`);
  seen.add(key);
}
