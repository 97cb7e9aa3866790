import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { contractMutants } from "../../../../mutants/contract-mutants.ts";
import { broken, type Mutant } from "../../../../mutants/mutant.ts";
import { noticedBy } from "../../../../mutants/noticed-by.ts";
import { rowMutants, specRows } from "../../../../mutants/row-mutants.ts";
import { runTests } from "../../../../mutants/run-tests.ts";
import { knownSurvivors } from "../../../../mutants/survivors.ts";
import { copyTree } from "../../../../mutants/tree-copy.ts";
import "../support/leftovers.ts";
import { root } from "./place.ts";

const contract = contractMutants(root, noticedBy);
const rows = rowMutants(root);
const read = (file: string): string => readFileSync(join(root, file), "utf8");

test("every row of docs/spec-map.md that names a test has a break that ought to be noticed", () => {
  const withTests = specRows(root).filter(({ tests }) => tests.length > 0);
  assert.ok(withTests.length > 80, `only ${withTests.length} rows`);
  assert.deepEqual(
    withTests.filter(({ row }) => !rows.some(({ name }) => name.startsWith(`${row}: `))).map(({ row }) => row),
    [],
  );
});

test("every constant of the contract's limits and every field of its schemas has a break", () => {
  const limits = [...read("packages/contract/src/limits.ts").matchAll(/^(?:export )?const (\w+)/gm)];
  assert.ok(limits.length >= 25, `only ${limits.length} constants`);
  for (const [, name = ""] of limits)
    assert.ok(
      contract.some((each) => each.name.includes(`const ${name}`)),
      name,
    );
  for (const word of ["realfiletype", "callback_failed_error", "statusCode", "custom_data", "download_headers"]) {
    assert.ok(
      contract.some(({ from }) => from === word),
      word,
    );
  }
  const words = ['"X-Signature"', '"scanner:too-big"', '"com.scanner"', '"clean"', '"2.17.0"', '"invalid_header"'];
  for (const word of words)
    assert.ok(
      contract.some(({ from }) => from === word),
      word,
    );
});

test("every break changes its file, has tests that are there, and a name of its own; survivors are breaks", () => {
  const all = [...contract, ...rows];
  assert.ok(all.length > 400, `only ${all.length} breaks`);
  for (const mutant of all) {
    assert.notEqual(broken(read(mutant.file), mutant), read(mutant.file), mutant.name);
    for (const { file } of mutant.tests) assert.ok(existsSync(join(root, file)), `${file} for ${mutant.name}`);
  }
  const names = all.map(({ name }) => name);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
  for (const name of Object.keys(knownSurvivors)) assert.ok(names.includes(name), `${name} is no break`);
});

test("a test notices what is broken in a copy, passes in the unbroken one, and the repository stays as it is", async () => {
  const chosen = ["OBJECT_LINK_HOURS", '"2.17.0" → ', "realfiletype → ", "Limits / Presigned link"].map((words) =>
    [...contract, ...rows].find(({ name }) => name.includes(words)),
  );
  using copy = copyTree(root);
  for (const mutant of chosen as Mutant[]) {
    const [choice] = mutant.tests;
    assert.ok(choice, mutant.name);
    const before = read(mutant.file);
    assert.equal((await runTests(copy.path, choice)).kind, "passed", choice.file);
    using _ = copy.breakWith(mutant);
    const run = await runTests(copy.path, choice);
    assert.deepEqual([run.kind, "began" in run && run.began], ["failed", true], mutant.name);
    assert.equal(read(mutant.file), before);
  }
});
