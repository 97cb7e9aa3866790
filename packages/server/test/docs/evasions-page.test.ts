import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answerEvasions, evasionsPage } from "../../../../proof/evasions-page.ts";

test("docs/evasions.md says what Lazaret answers today, and nothing in it is clean", async () => {
  const answers = await answerEvasions();
  const clean = answers.filter(({ lazaret }) => lazaret !== "infected" && lazaret !== "no");
  assert.deepEqual(
    clean.map(({ evasion, lazaret }) => `${evasion.name}: ${lazaret}`),
    [],
  );
  const page = readFileSync(new URL("../../../../docs/evasions.md", import.meta.url), "utf8");
  assert.deepEqual(withoutClamd(page), withoutClamd(evasionsPage(answers)), "npm run evasions-page writes it anew");
});

/** Leaves out the answers of clamd itself, which change with its version. */
function withoutClamd(page: string): string[] {
  return page.split("\n").map((line) => line.replace(/\| [*a-z]+ (\| `[^|]*\|)$/, "$1"));
}
