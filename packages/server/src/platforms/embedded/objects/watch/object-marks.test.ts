import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { growingMarks, markOf } from "./object-marks.ts";
import { toldMarks } from "./told-marks.ts";

test("all marks that were added are known, and no others", () => {
  const mark = fc.nat(3000);
  fc.assert(
    fc.property(fc.array(mark, { maxLength: 3000 }), fc.array(mark), (added, asked) => {
      const marks = growingMarks();
      for (const each of added) marks.add(each);
      const known = marks.done();
      const expected = new Set(added);
      for (const each of [...added, ...asked]) assert.equal(known.has(each), expected.has(each));
    }),
  );
});

test("each version of each key has its own mark, which fits into a number", () => {
  const marks = ["a", "b", "a b"].flatMap((key) => ["v1", "v2"].map((version) => markOf(key, version)));
  assert.equal(new Set(marks).size, marks.length);
  assert.ok(marks.every((mark) => Number.isSafeInteger(mark) && mark >= 0));
});

test("what was told of is known until a sweep that began later has ended", () => {
  const told = toldMarks();
  told.add(1);
  told.sweepBegins();
  told.add(2);
  assert.deepEqual([told.has(1), told.has(2)], [true, true]);
  told.sweepEnded();
  assert.deepEqual([told.has(1), told.has(2)], [false, true]);
});

test("what was told of before a sweep that failed is known in the next", () => {
  const told = toldMarks();
  told.add(1);
  told.sweepBegins();
  told.add(2);
  told.sweepBegins();
  assert.deepEqual([told.has(1), told.has(2)], [true, true]);
});

test("no more marks are kept than there is room for", () => {
  const told = toldMarks(3);
  for (const mark of [1, 2, 3, 4]) told.add(mark);
  assert.deepEqual([told.has(1), told.has(4)], [false, true]);
  told.sweepBegins();
  for (const mark of [5, 6, 7]) told.add(mark);
  told.sweepBegins();
  assert.deepEqual([told.has(4), told.has(7)], [false, true]);
});
