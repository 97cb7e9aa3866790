import assert from "node:assert/strict";
import { test } from "node:test";
import { debounce } from "./debounce.ts";

const make = (maxFiles = 10) => debounce({ quietMs: 1000, maxFiles });

test("a file that nobody has seen is due at once, and quiet when it was the same for the time", () => {
  const files = make();
  assert.equal(files.add("a", 0), true);
  assert.equal(files.dueInMs(0), 0);
  assert.deepEqual(files.due(0), ["a"]);
  assert.equal(files.check("a", 0, "v1"), false);
  assert.equal(files.dueInMs(400), 600);
  assert.deepEqual(files.due(999), []);
  assert.deepEqual(files.due(1000), ["a"]);
  assert.equal(files.check("a", 1000, "v1"), true);
  assert.deepEqual(files.due(9999), []);
  assert.equal(files.dueInMs(0), Number.POSITIVE_INFINITY);
});

test("a file that is still written to is not quiet", () => {
  const files = make();
  files.add("a", 0, "v1");
  for (let now = 1000; now < 10_000; now += 1000) {
    assert.deepEqual(files.due(now), ["a"]);
    assert.equal(files.check("a", now, `v${now}`), false);
  }
  assert.equal(files.check("a", 10_000, "v9000"), true);
});

test("hearing of a file again does not make it wait longer", () => {
  const files = make();
  files.add("a", 0, "v1");
  files.add("a", 900);
  files.add("a", 900, "v2");
  assert.deepEqual(files.due(1000), ["a"]);
  assert.equal(files.check("a", 1000, "v1"), true);
});

test("files are due in the order in which they were seen", () => {
  const files = make();
  files.add("a", 0, "v");
  files.add("b", 500, "v");
  files.add("c", 600);
  assert.deepEqual(files.due(600), ["c"]);
  files.check("a", 1000, "other");
  files.check("c", 1000, "v");
  assert.deepEqual(files.due(1999), ["b"]);
  assert.deepEqual(files.due(2000), ["b", "a", "c"]);
});

test("a file that could not be checked is due again later", () => {
  const files = make();
  files.add("a", 0);
  files.postpone("a", 100);
  assert.deepEqual(files.due(1099), []);
  assert.deepEqual(files.due(1100), ["a"]);
  assert.equal(files.check("a", 1100, "v1"), false);
});

test("there is room for so many and no more", () => {
  const files = make(4);
  for (const key of ["a", "b"]) assert.equal(files.add(key, 0), true);
  assert.equal(files.hasRoom, true);
  for (const key of ["c", "d"]) assert.equal(files.add(key, 0, "v"), true);
  assert.equal(files.add("e", 0), false);
  assert.equal(files.add("a", 0), true, "it is in already");
  assert.equal(files.hasRoom, false);
  files.remove("a");
  files.remove("d");
  assert.equal(files.hasRoom, true);
  assert.equal(files.add("e", 0), true);
});
