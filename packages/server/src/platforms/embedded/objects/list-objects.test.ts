import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { sampleBucket } from "../../../../test/contracts/sample-bucket.ts";
import { bucketFolders, problemWithNames } from "./buckets.ts";
import { listObjects } from "./list-objects.ts";

const bucket = "uploads";

test("names that are no UTF-8 are passed over, with all that is in such folders", async () => {
  using sample = sampleBucket();
  const broken = (name: string): Buffer => Buffer.from(`${sample.path("")}${name}`, "latin1");
  sample.write("a", "");
  sample.write("\u00ff", "");
  writeFileSync(broken("\xff"), "");
  mkdirSync(broken("b\xff"));
  writeFileSync(broken("b\xff/c"), "");
  const listed = await Array.fromAsync(sample.objects.list(bucket));
  assert.deepEqual(
    listed.map(({ key }) => key),
    ["a", "\u00ff"],
  );
});

test("files too deep to have a key are passed over", async () => {
  using sample = sampleBucket();
  sample.write("a", "");
  sample.write(`${"x".repeat(200)}/`.repeat(5).concat("y".repeat(19)), "");
  sample.write(`${"x".repeat(200)}/`.repeat(5).concat("y".repeat(20)), "");
  sample.write(`${"x".repeat(200)}/`.repeat(6).concat("y"), "");
  const listed = await Array.fromAsync(sample.objects.list(bucket));
  assert.deepEqual(
    listed.map(({ key }) => key.length),
    [1, 1024],
  );
});

test("what the store keeps for itself is not listed, also by its prefix", async () => {
  using sample = sampleBucket();
  await sample.put({ bucket, key: "a" }, "1");
  await sample.put({ bucket, key: "a" }, "2", { keepOlder: true });
  for (const prefix of ["", ".", ".lazaret", ".lazaret/", ".lazaret/versions/"]) {
    const listed = await Array.fromAsync(sample.objects.list(bucket, { prefix }));
    assert.equal(listed.length, prefix === "" ? 1 : 0, prefix);
  }
});

test("half a surrogate pair is the prefix of nothing", async () => {
  using sample = sampleBucket();
  sample.write("\ufffd", "");
  sample.write("\u{1f9a0}", "");
  assert.deepEqual(await Array.fromAsync(sample.objects.list(bucket, { prefix: "\ud83e" })), []);
});

const segment = fc.constantFrom("a", "b", "a-", "a.", "a0", "B", "é", "\uffee", "\u{1f9a0}", "~");
const keys = fc.uniqueArray(
  fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/")),
  { minLength: 1, maxLength: 15 },
);

test("any objects are listed in the order of their bytes, from any key on, below any prefix, in any number of steps", async () => {
  await fc.assert(
    fc.asyncProperty(keys, fc.nat(), fc.nat(), fc.integer({ min: 1, max: 4 }), async (wanted, at, cut, namesAtOnce) => {
      using sample = sampleBucket();
      const written = wanted.filter((key) => !wanted.some((other) => other.startsWith(`${key}/`)));
      for (const key of written) sample.write(key, key);
      const chosen = written[at % written.length] ?? "";
      const prefix = chosen.slice(0, cut % (chosen.length + 1));
      const after = wanted[cut % wanted.length] ?? "";
      const expected = written
        .filter((key) => prefix.isWellFormed() && key.startsWith(prefix) && compare(key, after) > 0)
        .toSorted(compare);
      const buckets = bucketFolders({ bucketsDir: sample.bucketsDir });
      const listed = await Array.fromAsync(listObjects(buckets, bucket, { prefix, after, namesAtOnce }));
      assert.deepEqual(
        listed.map(({ key }) => key),
        expected,
      );
      assert.ok(listed.every((object) => problemWithNames(object) === undefined));
      assert.deepEqual(sample.openPaths(), []);
    }),
    { numRuns: 60 },
  );
});

test("a list that is left in the middle holds nothing open", async () => {
  using sample = sampleBucket();
  for (const key of ["a/b/c", "a/b/d", "e"]) sample.write(key, "");
  for await (const { key } of sample.objects.list(bucket)) {
    assert.equal(key, "a/b/c");
    assert.ok(sample.openPaths().length > 0);
    break;
  }
  assert.deepEqual(sample.openPaths(), []);
});

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
