import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import type { ListedObject } from "../../src/fetch/object-lister.ts";
import { until } from "../support/until.ts";
import {
  failureOf,
  findingOf,
  missingBucket,
  type ObjectStoreKind,
  type ObjectStores,
  oddKeys,
} from "./object-stores.ts";

const YEAR_MS = 365 * 24 * 3600 * 1000;
const LIMIT_MS = 60_000;

/** Keys whose order as text, as paths or as UTF-16 is another than that of their bytes. */
const unorderedKeys = ["a0", "a-b", "a.b", "a/b-c", "a/b/c", "B", "b/1", "b/10", "b/2", "b!", "b0", "é", "z"].concat(
  "\uffee",
  "\u{1f9a0}",
);

/** What every `ObjectLister` does. */
export function objectListerContract({ name, make, versioned }: ObjectStoreKind): void {
  describe(`listing objects of ${name}`, () => {
    test("an empty bucket has no objects", async () => {
      await using stores = await make();
      assert.deepEqual(await keysOf(stores), []);
    });

    test("a bucket that nobody made cannot be listed", async () => {
      await using stores = await make();
      const failure = await failureOf(Array.fromAsync(stores.lister.list(missingBucket)));
      assert.equal(failure.finding, findings.objectNotFound);
      assert.equal(failure.passing, false);
    });

    test("objects come in the order of their keys' bytes", async () => {
      await using stores = await make();
      for (const key of unorderedKeys) await stores.put(key, key);
      assert.deepEqual(await keysOf(stores), inOrder(unorderedKeys));
    });

    test("keys with odd characters are listed as they are", async () => {
      await using stores = await make();
      for (const key of oddKeys) await stores.put(key, key);
      assert.deepEqual(await keysOf(stores), inOrder(oddKeys));
    });

    test("each comes with its newest version, size and time", async () => {
      await using stores = await make();
      await stores.put("object", "first");
      const version = await stores.put("object", "second one");
      await stores.put("empty", "");
      const [empty, object] = await Array.fromAsync(stores.lister.list(stores.bucket));
      assert.equal(empty?.sizeBytes, 0);
      assert.equal(object?.bucket, stores.bucket);
      assert.equal(object?.sizeBytes, 10);
      if (versioned) assert.equal(object?.version, version);
      assert.ok(Math.abs((object?.modifiedAt ?? 0) - Date.now()) < YEAR_MS, "milliseconds since 1970");
    });

    test("a prefix chooses keys, also in the middle of a name", async () => {
      await using stores = await make();
      for (const key of unorderedKeys) await stores.put(key, key);
      for (const prefix of [
        "",
        "a",
        "a/",
        "a/b",
        "a/b/",
        "b/1",
        "b",
        "\u{1f9a0}",
        "é",
        "x",
        "a/x/",
        "z/",
        "../",
        "/",
        ".",
      ]) {
        const expected = inOrder(unorderedKeys.filter((key) => key.startsWith(prefix)));
        assert.deepEqual(await keysOf(stores, { prefix }), expected, JSON.stringify(prefix));
      }
    });

    test("a list can begin after any key, whether there is such an object or not", async () => {
      await using stores = await make();
      for (const key of unorderedKeys) await stores.put(key, key);
      for (const after of [...unorderedKeys, "", "a", "a/", "a/b", "a/b0", "b/", "b/0", "b/1!", "zz", "\u{10ffff}"]) {
        const expected = inOrder(unorderedKeys.filter((key) => compare(key, after) > 0));
        assert.deepEqual(await keysOf(stores, { after }), expected, JSON.stringify(after));
        const below = expected.filter((key) => key.startsWith("b/"));
        assert.deepEqual(await keysOf(stores, { prefix: "b/", after }), below, JSON.stringify(after));
      }
    });

    test("more objects than a store answers at once are all listed", async () => {
      await using stores = await make();
      const keys = Array.from({ length: 1005 }, (_, index) => `many/${index % 3}/${index}`);
      for (const key of keys) await stores.put(key, "");
      assert.deepEqual(await keysOf(stores), inOrder(keys));
    });

    test("a list can be left before its end", async () => {
      await using stores = await make();
      for (const key of unorderedKeys) await stores.put(key, key);
      for await (const { key } of stores.lister.list(stores.bucket)) {
        assert.equal(key, inOrder(unorderedKeys)[0]);
        break;
      }
    });
  });
}

/** What every `ObjectWatcher` does. */
export function objectWatcherContract({ name, make }: ObjectStoreKind): void {
  describe(`watching objects of ${name}`, () => {
    test("objects are told of that come at once, later, in new folders, and again", async () => {
      await using stores = await make();
      await using watch = watching(stores);
      await stores.put("at once", "1");
      await watch.hears("at once");
      await stores.put("later", "22");
      await stores.put("new/folder/object", "333");
      await watch.hears("later", "new/folder/object");
      const version = await stores.put("later", "4444");
      await watch.hearsThat("the new version", (object) => object.key === "later" && object.sizeBytes === 4);
      assert.equal(watch.heard.findLast(({ key }) => key === "later")?.version, version);
    });

    test("of many objects at once none is forgotten", async () => {
      await using stores = await make();
      await using watch = watching(stores);
      const keys = Array.from({ length: 120 }, (_, index) => `${index % 7}/${index % 5}/${index}`);
      await Promise.all(keys.map((key) => stores.put(key, key)));
      await watch.hears(...keys);
    });

    test("keys with odd characters are told as they are", async () => {
      await using stores = await make();
      await using watch = watching(stores);
      for (const key of oddKeys) await stores.put(key, key);
      await watch.hears(...oddKeys);
      assert.deepEqual(new Set(watch.heard.map(({ key }) => key)), new Set(oddKeys));
    });

    test("an aborted signal ends it, also before it began", async () => {
      await using stores = await make();
      const watcher = stores.watcher ?? assert.fail("this store cannot watch");
      const ending = new AbortController();
      const all = Array.fromAsync(watcher.watch(stores.bucket, ending.signal));
      ending.abort();
      assert.deepEqual(await all, []);
      assert.deepEqual(await Array.fromAsync(watcher.watch(stores.bucket, AbortSignal.abort())), []);
    });

    test("who leaves it need not abort it", async () => {
      await using stores = await make();
      const watcher = stores.watcher ?? assert.fail("this store cannot watch");
      const objects = watcher.watch(stores.bucket, new AbortController().signal);
      await stores.put("object", "1");
      for await (const { key } of objects) {
        assert.equal(key, "object");
        break;
      }
    });

    test("a bucket that nobody made cannot be watched", async () => {
      await using stores = await make();
      const watcher = stores.watcher ?? assert.fail("this store cannot watch");
      const objects = watcher.watch(missingBucket, new AbortController().signal);
      assert.equal(await findingOf(Array.fromAsync(objects)), findings.objectNotFound);
    });
  });
}

interface Watching extends AsyncDisposable {
  heard: ListedObject[];
  hears(...keys: string[]): Promise<void>;
  hearsThat(what: string, isIt: (object: ListedObject) => boolean): Promise<void>;
}

function watching({ watcher, bucket }: ObjectStores): Watching {
  if (!watcher) throw new Error("this store cannot watch");
  const ending = new AbortController();
  const heard: ListedObject[] = [];
  let failed: { error: unknown } | undefined;
  const listen = async (): Promise<void> => {
    for await (const object of watcher.watch(bucket, ending.signal)) heard.push(object);
  };
  const listening = listen().catch((error) => {
    failed = { error };
  });
  async function waitFor(what: string, condition: () => boolean): Promise<void> {
    await until(`told of ${what}`, () => failed !== undefined || condition(), { limitMs: LIMIT_MS });
    if (failed) throw failed.error;
  }
  return {
    heard,
    hears: (...keys) =>
      waitFor(`${keys.length} objects`, () => new Set(keys).isSubsetOf(new Set(heard.map(({ key }) => key)))),
    hearsThat: (what, isIt) => waitFor(what, () => heard.some(isIt)),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await listening;
    },
  };
}

async function keysOf(stores: ObjectStores, options?: { prefix?: string; after?: string }): Promise<string[]> {
  return (await Array.fromAsync(stores.lister.list(stores.bucket, options))).map(({ key }) => key);
}

function inOrder(keys: readonly string[]): string[] {
  return keys.toSorted(compare);
}

function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
