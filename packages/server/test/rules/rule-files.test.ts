import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { yaraProgram } from "../../src/engines/rules/compile-rules.ts";
import { BUILT_IN_RULES, countRules, readRules } from "../../src/engines/rules/rule-files.ts";
import { FULL_LIMITS } from "../../src/engines/threads/scan-limits.ts";
import { startScanWorker } from "../../src/engines/threads/scan-worker.ts";
import { sevenZipProgram } from "../../src/unpack/seven-zip.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { rulesEngine, verdictOf } from "../support/rules-engine.ts";

const sources = readRules(BUILT_IN_RULES);
const rules = sources.flatMap(({ text }) => text.match(/^rule [\s\S]*?^\}/gm) ?? []);
const tests = readdirSync(fileURLToPath(new URL(".", import.meta.url))).map((name) =>
  readFileSync(new URL(name, import.meta.url), "utf8"),
);

const engine = await rulesEngine({ threads: 1 });
atTheEnd(() => engine.close());

test("the compiler has nothing to say about the rules", async () => {
  const setup = { rules: { yara: yaraProgram(), sources }, sevenZip: sevenZipProgram(), folder: "", ignored: [] };
  const worker = await startScanWorker({ ...setup, limits: FULL_LIMITS });
  await worker.stop();
  assert.deepEqual(worker.rules?.warnings, []);
});

test("all rules are counted", () => assert.equal(countRules(sources), rules.length));

for (const rule of rules) {
  const name = rule.match(/^rule (\w+)/)?.[1] ?? "";
  test(`${name} has an author, a description and tests`, () => {
    assert.match(rule, /author = "Lazaret"\n\s+description = "[A-Z].{20,}[^.]"\n/);
    assert.ok(tests.some((text) => text.includes(`checkRule("${name}"`)));
  });
}

describe("no rule matches the files that rules and tests are kept in", () => {
  const folders = [BUILT_IN_RULES, fileURLToPath(new URL(".", import.meta.url))];
  for (const folder of folders) {
    for (const name of readdirSync(folder)) {
      test(name, async () => assert.equal(await verdictOf(engine, readFileSync(`${folder}/${name}`)), "clean"));
    }
  }
});
