import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { arrivedSince, growingMarks, markOf, recentMarks } from "./seen-objects.ts";

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

test("what was given out is known until a sweep that began later has ended", () => {
  const recent = recentMarks();
  recent.add(1);
  recent.sweepBegins();
  recent.add(2);
  assert.deepEqual([recent.has(1), recent.has(2)], [true, true]);
  recent.sweepEnded();
  assert.deepEqual([recent.has(1), recent.has(2)], [false, true]);
});

test("what was given out before a sweep that failed is known in the next", () => {
  const recent = recentMarks();
  recent.add(1);
  recent.sweepBegins();
  recent.add(2);
  recent.sweepBegins();
  assert.deepEqual([recent.has(1), recent.has(2)], [true, true]);
});

test("no more marks are kept than there is room for", () => {
  const recent = recentMarks(3);
  for (const mark of [1, 2, 3, 4]) recent.add(mark);
  assert.deepEqual([recent.has(1), recent.has(4)], [false, true]);
  recent.sweepBegins();
  for (const mark of [5, 6, 7]) recent.add(mark);
  recent.sweepBegins();
  assert.deepEqual([recent.has(4), recent.has(7)], [false, true]);
});

const since = 5000;

function times(ctimeMs: number, mtimeMs = ctimeMs): { ctimeMs: bigint; ctimeNs: bigint; mtimeNs: bigint } {
  return { ctimeMs: BigInt(ctimeMs), ctimeNs: BigInt(ctimeMs) * 1_000_000n, mtimeNs: BigInt(mtimeMs) * 1_000_000n };
}

test("files are new that came or changed since, however old their content is", () => {
  const recent = arrivedSince(since);
  recent.enter("", times(9000, 1));
  assert.equal(recent.has("a", times(4999)), false);
  assert.equal(recent.has("b", times(5000)), true);
  assert.equal(recent.has("c", times(9000, 1)), true);
});

test("all that is in a folder that was moved in is new, and nothing beside it", () => {
  const recent = arrivedSince(since);
  recent.enter("moved/", times(6000, 1000));
  assert.equal(recent.has("moved/old", times(1000)), true);
  recent.enter("moved/deep/", times(1000));
  assert.equal(recent.has("moved/deep/old", times(1000)), true);
  assert.equal(recent.has("moved/older", times(500)), true);
  assert.equal(recent.has("moved.txt", times(1000)), false);
  recent.enter("other/", times(1000));
  assert.equal(recent.has("other/old", times(1000)), false);
});

test("a folder into which something came, or that was moved before, makes nothing new", () => {
  const recent = arrivedSince(since);
  recent.enter("busy/", times(6000, 6000));
  assert.equal(recent.has("busy/old", times(1000)), false);
  recent.enter("moved long ago/", times(4000, 1000));
  assert.equal(recent.has("moved long ago/old", times(1000)), false);
});
