import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Verdict } from "../model/verdict.ts";
import { mergeVerdicts } from "./merge-verdicts.ts";

const clean: Verdict = { kind: "clean" };
const infected: Verdict = { kind: "infected", finding: "Win.Test" };
const rule: Verdict = { kind: "infected", finding: "Rule_Test" };
const encrypted: Verdict = { kind: "unscannable", finding: "scanner:encrypted" };

test("infected if any engine says so, with the name of the first that has one", () => {
  assert.deepEqual(mergeVerdicts([clean, rule]), rule);
  assert.deepEqual(mergeVerdicts([infected, rule]), infected);
  assert.deepEqual(mergeVerdicts([encrypted, rule]), rule);
});

test("not scannable if any engine could not look", () => {
  assert.deepEqual(mergeVerdicts([clean, encrypted]), encrypted);
  assert.deepEqual(mergeVerdicts([encrypted, clean]), encrypted);
});

test("clean only if every engine says so, and never of no engine at all", () => {
  assert.deepEqual(mergeVerdicts([clean, clean]), clean);
  assert.throws(() => mergeVerdicts([]));
  fc.assert(
    fc.property(fc.array(fc.constantFrom(clean, infected, rule, encrypted), { minLength: 1 }), (verdicts) => {
      const said = mergeVerdicts(verdicts).kind === "clean";
      assert.equal(
        said,
        verdicts.every((verdict) => verdict.kind === "clean"),
      );
    }),
  );
});
