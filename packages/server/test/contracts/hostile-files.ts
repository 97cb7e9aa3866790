import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { before, describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import { startEngine, type VariantParts } from "../../src/engines/variants.ts";
import type { Verdict } from "../../src/model/verdict.ts";
import type { Engine } from "../../src/scan/engine.ts";
import { type HostileFile, hostileFiles } from "../fixtures/hostile-files.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";

/** What an engine says of every hostile file. It has its temporary files in the folder that it is given. */
export function hostileFilesSuite(name: string, parts: (temporaryFolder: string) => Promise<VariantParts>): void {
  describe(name, () => {
    const folder = temporaryFolder();
    let engine: Engine;
    let alone = false;
    before(async () => {
      const given = await parts(folder.path);
      alone = given.clamd === undefined;
      engine = await startEngine(given);
    });
    atTheEnd(() => folder[Symbol.dispose]());
    atTheEnd(() => engine.close());

    for (const file of hostileFiles) {
      test(`says ${allowed(file).join(" or ")} of ${file.name}`, async () => {
        const verdict = await engine.scan(file.make(), AbortSignal.timeout(120_000));
        const status = verdict.kind === "unscannable" ? "no" : verdict.kind;
        assert.ok(allowed(file).includes(status), `it said ${status}: ${findingOf(verdict)}`);
        // clamd has limits of its own, and may be the first to say so.
        if (file.beyondLimits && alone) assert.equal(findingOf(verdict), findings.limitsExceeded);
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
