import assert from "node:assert/strict";
import { test } from "node:test";
import { turns } from "./turns.ts";

test("everybody has turns by weight, and who comes late gets no more than others from then on", () => {
  const given = turns();
  const weights: Record<string, number> = { heavy: 4 };
  const counts: Record<string, number> = {};
  const serve = (shares: readonly string[]): void => {
    const next = shares.reduce((best, share) => (given.of(share) < given.of(best) ? share : best));
    given.served(new Map([[next, 1]]), (share) => weights[share] ?? 1);
    counts[next] = (counts[next] ?? 0) + 1;
  };
  for (let round = 0; round < 500; round += 1) serve(["heavy", "light"]);
  assert.deepEqual(counts, { heavy: 400, light: 100 });
  for (let round = 0; round < 600; round += 1) serve(["heavy", "light", "late"]);
  assert.deepEqual(counts, { heavy: 800, light: 200, late: 100 });
});

test("who is new has no turn behind, however many came once", () => {
  const given = turns();
  for (let share = 0; share < 50_000; share += 1) given.served(new Map([[`${share}`, 1]]), () => 1);
  assert.equal(given.of("new"), 0);
});
