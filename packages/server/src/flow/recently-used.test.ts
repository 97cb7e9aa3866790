import assert from "node:assert/strict";
import { test } from "node:test";
import { recentlyUsed } from "./recently-used.ts";

test("what is least recently used is forgotten first", () => {
  const map = recentlyUsed<number>(3);
  for (const [index, key] of ["a", "b", "c"].entries()) map.set(key, index);
  assert.equal(map.get("a"), 0);
  map.set("b", 7);
  map.set("d", 3);
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => map.get(key)),
    [0, 7, undefined, 3],
  );
  assert.equal(map.size, 3);
});

test("to ask whether it is there is no use", () => {
  const map = recentlyUsed<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  assert.ok(map.has("a"));
  map.set("c", 3);
  assert.ok(!map.has("a"));
});

test("thousands of uses go as with an array that is searched", () => {
  let state = 1;
  const random = (below: number): number => {
    state = (state * 48_271) % 0x7fffffff;
    return state % below;
  };
  for (const most of [1, 2, 7, 40]) {
    const map = recentlyUsed<number>(most);
    /** The newest last. */
    let model: [key: string, value: number][] = [];
    for (let step = 0; step < 5000; step += 1) {
      const key = `${random(50)}`;
      const known = model.find(([each]) => each === key);
      if (random(2) === 0) {
        assert.equal(map.get(key), known?.[1]);
        if (known) model = [...model.filter((each) => each !== known), known];
      } else {
        map.set(key, step);
        model = [...model.filter((each) => each !== known), [key, step] as [string, number]].slice(-most);
      }
      assert.equal(map.size, model.length);
    }
    for (const [key] of model) assert.ok(map.has(key));
  }
});
