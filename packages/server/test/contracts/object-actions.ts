import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import { findingOf, type ObjectStoreKind, oddKeys, opened, textOf } from "./object-stores.ts";

const clean = { key: "scanner", value: "clean" };
const infected = { key: "scanner", value: "infected" };

/** What every `ObjectActions` does. */
export function objectActionsContract({ name, make, keepsOlder }: ObjectStoreKind): void {
  describe(`acting on objects of ${name}`, () => {
    test("a tag is set, and other tags stay", async () => {
      await using stores = await make();
      await stores.put("object", "bytes");
      const { object } = await opened(stores, "object");
      assert.deepEqual(await stores.tagsOf(object), {});
      assert.equal(await stores.actions.tag(object, { key: "owner", value: "somebody" }), "done");
      assert.equal(await stores.actions.tag(object, clean), "done");
      assert.deepEqual(await stores.tagsOf(object), { owner: "somebody", scanner: "clean" });
      assert.equal(await stores.actions.tag(object, clean), "done", "again, as after a crash");
      assert.equal(await stores.actions.tag(object, infected), "done");
      assert.deepEqual(await stores.tagsOf(object), { owner: "somebody", scanner: "infected" });
    });

    test("a late tag that may stand over its own value alone leaves what was found since", async () => {
      await using stores = await make();
      await stores.put("object", "bytes");
      const { object } = await opened(stores, "object");
      const late = { ...clean, over: "clean" };
      assert.equal(await stores.actions.tag(object, late), "done", "there is none yet");
      assert.equal(await stores.actions.tag(object, late), "done");
      assert.equal(await stores.actions.tag(object, infected), "done");
      assert.equal(await stores.actions.tag(object, late), "kept");
      assert.deepEqual(await stores.tagsOf(object), { scanner: "infected" });
    });

    test("a tag changes neither the object nor its mark", async () => {
      await using stores = await make();
      await stores.put("object", "bytes");
      const { object } = await opened(stores, "object");
      await stores.actions.tag(object, clean);
      assert.deepEqual((await opened(stores, "object")).object, object);
      assert.equal(await textOf(stores, "object"), "bytes");
    });

    test("each object has its own tags, whatever its key", async () => {
      await using stores = await make();
      for (const [index, key] of oddKeys.entries()) {
        await stores.put(key, key);
        const value = String(index);
        assert.equal(await stores.actions.tag((await opened(stores, key)).object, { key: "scanner", value }), "done");
      }
      for (const [index, key] of oddKeys.entries()) {
        assert.deepEqual(await stores.tagsOf({ bucket: stores.bucket, key }), { scanner: String(index) });
      }
    });

    test("an object that took the place of the one that was scanned gets no tag", async () => {
      await using stores = await make();
      await stores.put("object", "scanned");
      const { object } = await opened(stores, "object");
      assert.equal(await stores.actions.tag(object, clean), "done");
      await stores.put("object", "not scanned");
      assert.deepEqual(await stores.tagsOf({ bucket: stores.bucket, key: "object" }), {});
      assert.equal(await stores.actions.tag(object, infected), keepsOlder ? "done" : "changed");
      assert.deepEqual(await stores.tagsOf({ bucket: stores.bucket, key: "object" }), {});
      if (keepsOlder) assert.deepEqual(await stores.tagsOf(object), { scanner: "infected" });
    });

    test("an object that is gone gets no tag", async () => {
      await using stores = await make();
      await stores.put("object", "bytes");
      const { object } = await opened(stores, "object");
      await stores.remove(object);
      assert.equal(await stores.actions.tag(object, clean), "changed");
    });

    test("an object is deleted, and deleted again", async () => {
      await using stores = await make();
      await stores.put("folder/object", "infected");
      await stores.put("folder/other", "stays");
      const { object } = await opened(stores, "folder/object");
      await stores.actions.tag(object, infected);
      assert.equal(await stores.actions.delete(object), "done");
      assert.equal(await findingOf(textOf(stores, "folder/object")), findings.objectNotFound);
      assert.equal(await stores.actions.delete(object), "done", "again, as after a crash");
      assert.equal(await textOf(stores, "folder/other"), "stays");
    });

    test("objects are deleted whatever their keys", async () => {
      await using stores = await make();
      for (const key of oddKeys) await stores.put(key, key);
      for (const key of oddKeys) assert.equal(await stores.actions.delete((await opened(stores, key)).object), "done");
      assert.deepEqual(await Array.fromAsync(stores.lister.list(stores.bucket)), []);
    });

    test("an object that took the place of the one that was scanned is not deleted", async () => {
      await using stores = await make();
      await stores.put("object", "scanned");
      const { object } = await opened(stores, "object");
      await stores.put("object", "not scanned");
      assert.equal(await stores.actions.delete(object), keepsOlder ? "done" : "changed");
      assert.equal(await textOf(stores, "object"), "not scanned");
    });

    test("an object that was put again after it was deleted has no tags", async () => {
      await using stores = await make();
      await stores.put("object", "bytes");
      const { object } = await opened(stores, "object");
      await stores.actions.tag(object, clean);
      await stores.actions.delete(object);
      await stores.put("object", "bytes");
      assert.deepEqual(await stores.tagsOf({ bucket: stores.bucket, key: "object" }), {});
    });

    if (!keepsOlder) return;

    test("only the version that is meant is deleted", async () => {
      await using stores = await make();
      const versions: string[] = [];
      for (const text of ["first", "second", "third"]) versions.push((await stores.put("object", text)) ?? "");
      const [first, second, third] = versions;
      assert.equal(await stores.actions.delete((await opened(stores, "object", second)).object), "done");
      assert.equal(await findingOf(textOf(stores, "object", second)), findings.objectNotFound);
      assert.equal(await textOf(stores, "object", first), "first");
      assert.equal(await textOf(stores, "object"), "third");

      assert.equal(await stores.actions.delete((await opened(stores, "object", third)).object), "done");
      assert.equal(await findingOf(textOf(stores, "object", third)), findings.objectNotFound);
      assert.equal(await textOf(stores, "object", first), "first");
    });
  });
}
