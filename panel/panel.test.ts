import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { containersOfAllKinds } from "../packages/server/test/fixtures/corpus/corpus.ts";
import { candidate, sourcesOf } from "./candidates.ts";
import { fieldsOf } from "./fields.ts";
import { judge, tally } from "./judge.ts";
import { type Mutation, mutated, mutationsOf, smallest } from "./mutate.ts";
import { randomOf } from "./random.ts";

const content = Buffer.from("Minutes of a meeting at which nothing was decided. ".repeat(9));
/** Containers that are the same each time: no other program's dates, no random keys. */
const byHand = containersOfAllKinds.filter(
  ({ needs, locked, wrap }) => needs.length === 0 && !locked && wrap(content, "a").equals(wrap(content, "a")),
);
const indexes = Array.from({ length: 400 }, (_, index) => index * 3);

test("the same seed and number give the same changes, another seed gives others", () => {
  const files = (seed: string): string[] => {
    const sources = sourcesOf(byHand);
    return indexes.map((index) =>
      createHash("sha1")
        .update(candidate(sources, seed, index).file)
        .digest("hex"),
    );
  };
  const [first, again, other] = [files("a"), files("a"), files("b")];
  assert.deepEqual(again, first);
  assert.ok(other.filter((file, index) => file === first[index]).length < 10);
});

test("a new container changes nothing about the files of the others", () => {
  const [sources, fewer] = [sourcesOf(byHand), sourcesOf(byHand.slice(1))];
  for (const round of [0, 1]) {
    const one = candidate(sources, "more", round * sources.length + 7);
    const other = candidate(fewer, "more", round * fewer.length + 6);
    assert.equal(other.base.name, one.base.name);
    assert.ok(other.file.equals(one.file));
  }
});

test("a change makes a difference, and says what it is", () => {
  const sources = sourcesOf(byHand);
  for (const index of indexes) {
    const { base, mutations } = candidate(sources, "difference", index);
    assert.ok(mutations.length >= 1 && mutations.length <= 3, `${index}: ${mutations.length} changes`);
    for (const { what, edit } of mutations) {
      const before = base.inner.subarray(edit.at, edit.at + edit.remove);
      assert.ok(!before.equals(edit.insert), `${index}: ${what}`);
      assert.ok(what.length > 4, `${index}: ${what}`);
    }
  }
});

test("the fields of a gzip are found where they are, and one that is changed is changed there alone", () => {
  const file = gzipSync("content");
  const flags = fieldsOf(file).find(({ name }) => name === "flags");
  assert.deepEqual([flags?.group, flags?.at, flags?.size], ["gzip", 3, 1]);
  const random = randomOf("gzip");
  const changes = indexes.flatMap(() => mutationsOf(file, random)).filter(({ what }) => what.startsWith("gzip, flags"));
  assert.ok(changes.length > 5);
  for (const change of changes) {
    const other = mutated(file, [change]);
    assert.equal(other.length, file.length);
    assert.deepEqual(
      [...other.keys()].filter((at) => other[at] !== file[at]),
      [3],
    );
  }
});

test("the checksum of a header of tar is mended where a change says so", () => {
  const tar = byHand.find(({ kind, name }) => kind === "tar: forms and sizes" && name === "ustar");
  const file = tar?.wrap(Buffer.from("content"), "sample.txt") ?? Buffer.alloc(0);
  const edit = { at: 108, remove: 1, insert: Buffer.from("7") };
  const sumOf = (header: Buffer): number => Number.parseInt(header.toString("latin1", 148, 156), 8);
  const sum = (header: Buffer): number =>
    header.subarray(0, 512).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  const without = mutated(file, [{ what: "uid", edit }]);
  assert.notEqual(sumOf(without), sum(without));
  const mended = mutated(file, [{ what: "uid", edit, mend: { kind: "tar", at: 0 } }]);
  assert.equal(sumOf(mended), sum(mended));
});

test("of several changes those that are needed remain, as small as they may be", async () => {
  const file = Buffer.from("abcdefghijklmnopqrstuvwxyz");
  const changes: Mutation[] = [
    { what: "not needed", edit: { at: 1, remove: 1, insert: Buffer.from("!") } },
    { what: "needed in part", edit: { at: 10, remove: 4, insert: Buffer.from("1234") } },
    { what: "cut off", edit: { at: 20, remove: 6, insert: Buffer.alloc(0) } },
  ];
  const best = await smallest(file, changes, async (changed) => changed.includes("2") && !changed.includes("z"));
  assert.deepEqual(
    best.mutations.map(({ edit }) => [edit.at, edit.remove, `${edit.insert}`]),
    [
      [11, 1, "2"],
      [25, 1, ""],
    ],
  );
  assert.equal(`${best.file}`, "abcdefghijk2mnopqrstuvwxy");
});

test("what a reader gives out and any set-up calls clean is a hole, and nothing else is", () => {
  const said = (status: string): { setUp: string; status: string } => ({ setUp: status, status });
  assert.deepEqual(judge([said("clean")], ["7z"]), { holes: ["clean"], isClean: true });
  assert.deepEqual(judge([said("no"), said("clean")], ["7z"]), { holes: ["clean"], isClean: true });
  assert.deepEqual(judge([said("clean")], []), { holes: [], isClean: true });
  assert.deepEqual(judge([said("infected"), said("no")], ["7z"]), { holes: [], isClean: false });

  const results = tally();
  const hole = judge([said("clean")], ["python email > 7z"]);
  results.add("zip: methods", [said("clean")], hole);
  results.asked(["python email > 7z"], hole);
  assert.equal(results.total.holes, 1);
  assert.match(results.table(), /\| zip \| 1 \| 0 \| 0 \| 0 \| 1 \|/);
  assert.match(results.table(), /\| 7z \| 1 \| 1 \|/);
});
