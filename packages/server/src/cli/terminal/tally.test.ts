import assert from "node:assert/strict";
import { test } from "node:test";
import { count, exitCodeOf, newTally, summary } from "./tally.ts";

function tallyOf(...statuses: ("clean" | "infected" | "no")[]): ReturnType<typeof newTally> {
  const tally = newTally();
  for (const status of statuses) count(tally, status, 1024);
  return tally;
}

test("only a whole pass with nothing but clean files is a success", () => {
  assert.equal(exitCodeOf(tallyOf("clean", "clean"), true), 0);
  assert.equal(exitCodeOf(tallyOf("clean", "clean"), false), 2);
  assert.equal(exitCodeOf(tallyOf("clean", "no"), true), 2);
  assert.equal(exitCodeOf(tallyOf("no", "infected"), true), 1);
  assert.equal(exitCodeOf(tallyOf("infected"), false), 1);
});

test("the summary counts all of them", () => {
  assert.equal(
    summary(tallyOf("clean", "no", "infected"), { seconds: 61, interrupted: true }),
    "interrupted: 3 scanned (3.0 KB): 1 clean, 1 infected, 1 not scanned, 1m 1s\n",
  );
});
