import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findings, OBJECT_KEY_MAX_BYTES } from "@lazaret/contract";
import type { ObjectRef } from "../../src/model/source.ts";
import {
  failureOf,
  findingOf,
  missingBucket,
  never,
  type ObjectStoreKind,
  oddKeys,
  opened,
  readAll,
  textOf,
} from "./object-stores.ts";

const MIB = 1024 * 1024;

/** What every `ObjectReader` does. */
export function objectReaderContract({ name, make, versioned, keepsOlder }: ObjectStoreKind): void {
  describe(`reading objects of ${name}`, () => {
    test("an object is read whole, whatever its size", async () => {
      await using stores = await make();
      for (const size of [0, 1, 65_536, 256 * 1024, 256 * 1024 + 1, 3 * MIB + 7]) {
        const bytes = Buffer.alloc(size, `${size} bytes `);
        const version = await stores.put("object", bytes);
        const { bytes: read, announcedBytes, object } = await opened(stores, "object");
        assert.ok(bytes.equals(await readAll(read)), `${size} bytes`);
        assert.equal(announcedBytes, size);
        assert.equal(object.bucket, stores.bucket);
        assert.equal(object.key, "object");
        assert.equal(object.version, version);
        assert.equal(object.version !== undefined, versioned);
        assert.notEqual(object.mark, "");
      }
    });

    test("keys with odd characters are keys like others, and each is its own", async () => {
      await using stores = await make();
      for (const key of oddKeys) {
        assert.equal(stores.reader.problemWith({ bucket: stores.bucket, key }), undefined, JSON.stringify(key));
        await stores.put(key, `content of ${key}`);
      }
      for (const key of oddKeys) assert.equal(await textOf(stores, key), `content of ${key}`);
    });

    test("what is not there is not found", async () => {
      await using stores = await make();
      await stores.put("folder/object", "here");
      const { bucket } = stores;
      for (const object of [
        { bucket, key: "other" },
        { bucket, key: "folder" },
        { bucket, key: "folder/object/below" },
        { bucket, key: "Folder/object" },
        { bucket: missingBucket, key: "folder/object" },
      ]) {
        const failure = await failureOf(stores.reader.open(object, never));
        assert.equal(failure.finding, findings.objectNotFound, object.key);
        assert.equal(failure.passing, false);
      }
    });

    test("names that no object can have are told, and find nothing", async () => {
      await using stores = await make();
      const { bucket } = stores;
      const impossible: ObjectRef[] = [
        { bucket: "", key: "a" },
        { bucket: "..", key: "a" },
        { bucket: `${bucket}/a`, key: "b" },
        { bucket: `../${bucket}`, key: "a" },
        { bucket: "b".repeat(64), key: "a" },
        { bucket, key: "" },
        { bucket, key: "half a pair \ud83e" },
        { bucket, key: "k".repeat(OBJECT_KEY_MAX_BYTES + 1) },
        { bucket, key: "ü".repeat(OBJECT_KEY_MAX_BYTES / 2 + 1) },
      ];
      for (const object of impossible) {
        assert.match(stores.reader.problemWith(object) ?? "", /\w/, JSON.stringify(object));
        assert.equal(await findingOf(stores.reader.open(object, never)), findings.objectNotFound);
      }
    });

    test("an object that was put again is read anew, with another mark", async () => {
      await using stores = await make();
      await stores.put("object", "first");
      const { object: before } = await opened(stores, "object");
      assert.equal((await opened(stores, "object")).object.mark, before.mark, "the same while nothing happens");
      await stores.put("object", "second");
      const { object: after } = await opened(stores, "object");
      assert.notEqual(after.mark, before.mark);
      assert.equal(await textOf(stores, "object"), "second");
    });

    test("an object that is replaced while it is read fails or is the old one to its end", async () => {
      await using stores = await make();
      await stores.put("object", Buffer.alloc(8 * MIB, "a"));
      const { bytes } = await opened(stores, "object");
      const read: Uint8Array[] = [];
      const reading = async (): Promise<void> => {
        for await (const chunk of bytes) {
          if (read.length === 0) await stores.put("object", Buffer.alloc(8 * MIB, "b"));
          read.push(chunk);
        }
      };
      const failed = await reading().then(
        () => undefined,
        (error) => failureOf(Promise.reject(error)),
      );
      if (failed) assert.deepEqual([failed.finding, failed.passing], [findings.downloadFailed, true]);
      else assert.ok(Buffer.alloc(8 * MIB, "a").equals(Buffer.concat(read)));
    });

    test("who stops before the end, or never begins, leaves nothing open", async () => {
      await using stores = await make();
      await stores.put("object", Buffer.alloc(4 * MIB, "a"));
      for await (const chunk of (await opened(stores, "object")).bytes) {
        assert.ok(chunk.length > 0);
        break;
      }
      await (await opened(stores, "object")).bytes[Symbol.asyncIterator]().return?.();
    });

    test("an aborted signal ends the reading with its reason", async () => {
      await using stores = await make();
      await stores.put("object", Buffer.alloc(4 * MIB, "a"));
      const object = { bucket: stores.bucket, key: "object" };
      const reason = new Error("no time");
      await assert.rejects(stores.reader.open(object, AbortSignal.abort(reason)), reason);

      const midway = new AbortController();
      const iterator = (await stores.reader.open(object, midway.signal)).bytes[Symbol.asyncIterator]();
      assert.equal((await iterator.next()).done, false);
      midway.abort(reason);
      await assert.rejects(iterator.next(), reason);
      await iterator.return?.();
    });

    test("a link gives the object to anybody who has it, and to nobody without its signature", async () => {
      await using stores = await make();
      for (const key of oddKeys) {
        await stores.put(key, `content of ${key}`);
        const link = await stores.reader.link({ bucket: stores.bucket, key }, 3600);
        assert.equal(new URL(link).hash, "");
        assert.equal(Buffer.from((await stores.get(link)) ?? "").toString(), `content of ${key}`);
        const unsigned = new URL(link);
        unsigned.search = "";
        assert.equal(await stores.get(unsigned.href), undefined, JSON.stringify(key));
      }
    });

    test("a link to one object is none to another", async () => {
      await using stores = await make();
      await stores.put("mine", "mine");
      await stores.put("other", "other");
      const link = new URL(await stores.reader.link({ bucket: stores.bucket, key: "mine" }, 3600));
      link.pathname = link.pathname.replace(/mine$/, "other");
      assert.equal(await stores.get(link.href), undefined);
    });

    test("a link can be made for what is not there yet", async () => {
      await using stores = await make();
      const link = await stores.reader.link({ bucket: stores.bucket, key: "later" }, 3600);
      assert.equal(await stores.get(link), undefined);
      await stores.put("later", "now");
      assert.equal(Buffer.from((await stores.get(link)) ?? "").toString(), "now");
    });

    if (!versioned) return;

    test("a version that is another object's, or was removed, is not found", async () => {
      await using stores = await make();
      const version = await stores.put("mine", "mine");
      await stores.put("other", "other");
      assert.equal(await findingOf(textOf(stores, "other", version)), findings.objectNotFound);
      await stores.remove((await opened(stores, "mine")).object);
      assert.equal(await findingOf(textOf(stores, "mine", version)), findings.objectNotFound);
      assert.equal(await findingOf(textOf(stores, "mine")), findings.objectNotFound);
    });

    test("a version that is named is opened while it is the newest", async () => {
      await using stores = await make();
      const version = await stores.put("object", "first");
      assert.equal(await textOf(stores, "object", version), "first");
      assert.equal((await opened(stores, "object", version)).object.version, version);
    });

    if (!keepsOlder) {
      test("a version that was replaced is not found", async () => {
        await using stores = await make();
        const version = await stores.put("object", "first");
        await stores.put("object", "second");
        assert.equal(await findingOf(textOf(stores, "object", version)), findings.objectNotFound);
      });
      return;
    }

    test("older versions are read and linked by their names", async () => {
      await using stores = await make();
      const versions = new Map<string, string | undefined>();
      for (const text of ["first", "second", "third"]) versions.set(text, await stores.put("folder/object", text));
      assert.equal(new Set(versions.values()).size, 3);
      for (const [text, version] of versions) {
        const older = await opened(stores, "folder/object", version);
        assert.equal(older.object.version, version);
        assert.equal((await readAll(older.bytes)).toString(), text);
        const named = { bucket: stores.bucket, key: "folder/object", version: version ?? "" };
        assert.equal(Buffer.from((await stores.get(await stores.reader.link(named, 60))) ?? "").toString(), text);
      }
      assert.equal(await textOf(stores, "folder/object"), "third");
    });
  });
}
