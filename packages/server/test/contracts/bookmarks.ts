import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ListedObject } from "../../src/fetch/object-lister.ts";
import type { Bookmark } from "../../src/guard/bookmarks.ts";
import { guardBucket } from "../../src/guard/guard-bucket.ts";
import type { Report } from "../../src/model/report.ts";
import type { OutputsKind } from "./outputs.ts";

const keys = Array.from({ length: 30 }, (_, index) => `key-${String(index).padStart(2, "0")}`);
const clean: Report = { verdict: { kind: "clean" }, sizeBytes: 1, downloadSeconds: 0, scanSeconds: 0 };

/** What every `Bookmarks` does. */
export function bookmarksContract({ name, make }: OutputsKind): void {
  describe(`the bookmarks of ${name}`, () => {
    test("are read as they were written last, also by a process started later, until they are cleared", async () => {
      await using outputs = await make();
      const bookmark = outputs.platform.bookmarks.of("b", { prefix: "a" });
      assert.equal(await bookmark.read(), undefined);
      await bookmark.write({ key: "first", startedAt: 1 });
      await bookmark.write({ key: "k\n💾\u0001'\ud800", startedAt: 1_790_000_000_123 });
      await using later = await outputs.another();
      const same = later.platform.bookmarks.of("b", { prefix: "a" });
      assert.deepEqual(await same.read(), { key: "k\n💾\u0001'\ud800", startedAt: 1_790_000_000_123 });
      await same.write({ key: "back", startedAt: 7 });
      assert.deepEqual(await bookmark.read(), { key: "back", startedAt: 7 });
      await same.clear();
      await same.clear();
      assert.equal(await bookmark.read(), undefined);
    });

    test("are each of one bucket and one set of filters", async () => {
      await using outputs = await make();
      const { bookmarks } = outputs.platform;
      const all = [bookmarks.of("b", {}), bookmarks.of("c", {}), bookmarks.of("b", { prefix: "a" })];
      for (const [index, each] of all.entries()) await each.write({ key: String(index), startedAt: index });
      await all[1]?.clear();
      assert.deepEqual(await Promise.all(all.map(async (each) => (await each.read())?.key)), ["0", undefined, "2"]);
    });

    test("of several that write at once one counts, whole", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      const both = [outputs, other].map(({ platform }) => platform.bookmarks.of("b", {}));
      const writes = Array.from({ length: 20 }, (_, index) =>
        both[index % 2]?.write({ key: `k${index}`, startedAt: index }),
      );
      await Promise.all(writes);
      const reached = await both[0]?.read();
      assert.equal(reached?.key, `k${reached?.startedAt}`);
      assert.deepEqual(await both[1]?.read(), reached);
    });

    test("two that guard the same bucket share one: however both are interrupted, the next leaves no object out", async () => {
      await using outputs = await make();
      await using other = await outputs.another();
      await using third = await outputs.another();
      for (const [one, two] of [
        [7, 19],
        [19, 7],
        [29, 3],
        [12, 13],
        [30, 10],
      ] as const) {
        const done = new Set<string>();
        const passes = [
          guardUntil(outputs.platform.bookmarks.of("b", {}), { done, scans: one }),
          guardUntil(other.platform.bookmarks.of("b", {}), { done, scans: two }),
        ];
        await Promise.all(passes);
        await guardUntil(third.platform.bookmarks.of("b", {}), { done, scans: Number.POSITIVE_INFINITY });
        assert.deepEqual([...done].toSorted(), keys);
        assert.equal(await outputs.platform.bookmarks.of("b", {}).read(), undefined);
      }
    });
  });
}

/** A pass that is interrupted after so many scans, and moves its bookmark as often as it can. */
async function guardUntil(bookmark: Bookmark, { done, scans }: { done: Set<string>; scans: number }): Promise<void> {
  const stop = new AbortController();
  const reached = await bookmark.read();
  let count = 0;
  let time = 1e9;
  const pass = {
    objects: listed(),
    filters: {},
    atOnce: 3,
    bookmark,
    ...(reached && { reached }),
    now() {
      time += 10_000;
      return time;
    },
    async scan(object: ListedObject) {
      await new Promise(setImmediate);
      done.add(object.key);
      return { object, report: clean, action: "tag" } as const;
    },
    onResult() {
      count += 1;
      if (count >= scans) stop.abort();
    },
  };
  await guardBucket(pass, stop.signal);
}

async function* listed(): AsyncIterable<ListedObject> {
  for (const key of keys) yield { bucket: "b", key, sizeBytes: 1, modifiedAt: 0 };
}
