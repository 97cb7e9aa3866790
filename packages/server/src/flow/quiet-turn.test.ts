import assert from "node:assert/strict";
import { test } from "node:test";
import { quietTurn } from "./quiet-turn.ts";

test("clients who come back one after the other are waited for", async () => {
  let arrived = 0;
  const comeBack = setInterval(() => {
    arrived += 1;
    if (arrived === 12) clearInterval(comeBack);
  }, 4);
  await quietTurn(() => arrived);
  assert.equal(arrived, 12);
});

test("a machine that stood still is no silence", async () => {
  let arrived = 0;
  // They could not come: nothing ran for a while.
  setTimeout(() => {
    const until = performance.now() + 60;
    while (performance.now() < until);
    setTimeout(() => (arrived += 1), 2);
  }, 5);
  await quietTurn(() => arrived);
  assert.equal(arrived, 1);
});

test("where always somebody comes it has an end", { timeout: 20_000 }, async () => {
  let arrived = 0;
  const comers = setInterval(() => (arrived += 1), 2);
  await quietTurn(() => arrived).finally(() => clearInterval(comers));
  assert.ok(arrived > 0);
});
