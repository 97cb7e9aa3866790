import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { before, describe, test } from "node:test";
import { startEngine, type VariantParts } from "../../src/engines/variants.ts";
import type { Verdict } from "../../src/model/verdict.ts";
import type { Engine } from "../../src/scan/engine.ts";
import { type HostileFile, hostileFiles } from "../fixtures/hostile-files.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";

let clamd: TestClamd;
const folder = temporaryFolder();
before(async () => {
  clamd = await testClamd({ MaxThreads: "4" });
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => clamd[Symbol.asyncDispose]());

const rules = { temporaryFolder: folder.path };
const address = () => ({ kind: "unix", path: clamd.socketPath }) as const;
const variants: [name: string, parts: () => VariantParts][] = [
  ["engine Q", () => ({ variant: "Q", clamd: address(), concurrency: 4 })],
  ["engine P without clamd", () => ({ variant: "P", clamd: undefined, concurrency: 4, rules })],
  ["engine P with clamd", () => ({ variant: "P", clamd: address(), concurrency: 4, rules })],
];

for (const [name, parts] of variants) {
  describe(name, () => {
    let engine: Engine;
    before(async () => {
      engine = await startEngine(parts());
    });
    atTheEnd(() => engine.close());

    for (const file of hostileFiles) {
      test(`says ${allowed(file).join(" or ")} of ${file.name}`, async () => {
        const verdict = await engine.scan(file.make(), AbortSignal.timeout(120_000));
        const status = verdict.kind === "unscannable" ? "no" : verdict.kind;
        assert.ok(allowed(file).includes(status), `it said ${status}: ${findingOf(verdict)}`);
      });
    }

    test("leaves no temporary file of any of them", () => {
      const left = readdirSync(folder.path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      assert.deepEqual(left, []);
    });
  });
}

/** Where we get further into a file than it needs to be refused, infected is as good. */
function allowed(file: HostileFile): readonly string[] {
  return file.expected === "no" ? ["no", "infected"] : [file.expected];
}

function findingOf(verdict: Verdict): string {
  return verdict.kind === "clean" ? "" : verdict.finding;
}
