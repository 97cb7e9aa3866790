import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import { failureOf, findingOf, never, readAll } from "../../../../test/contracts/object-stores.ts";
import { type SampleBucket, sampleBucket } from "../../../../test/contracts/sample-bucket.ts";
import { until } from "../../../../test/support/until.ts";
import type { OpenedObject } from "../../../fetch/object-reader.ts";

const MIB = 1024 * 1024;
const clean = { key: "scanner", value: "clean" };

function open({ objects, bucket }: SampleBucket, key: string, signal = never): Promise<OpenedObject> {
  return objects.open({ bucket, key }, signal);
}

describe("a file that changes while it is read", () => {
  const changes: Record<string, (path: string) => void> = {
    "is written to": (path) => writeFileSync(path, Buffer.alloc(2 * MIB, "b")),
    grows: (path) => appendFileSync(path, "more"),
    "is cut": (path) => truncateSync(path, MIB),
    "is written to and has its times set back": (path) => {
      writeFileSync(path, Buffer.alloc(2 * MIB, "b"));
      utimesSync(path, 1000, 1000);
    },
    "is replaced": (path) => {
      writeFileSync(`${path}.new`, Buffer.alloc(2 * MIB, "b"));
      renameSync(`${path}.new`, path);
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    test(`fails, to be tried again, when it ${what}`, async () => {
      using sample = sampleBucket();
      for (const chunksBefore of [0, 1, 8]) {
        sample.write("file", Buffer.alloc(2 * MIB, "a"));
        utimesSync(sample.path("file"), 1000, 1000);
        const { bytes } = await open(sample, "file");
        const iterator = bytes[Symbol.asyncIterator]();
        for (let chunk = 0; chunk < chunksBefore; chunk += 1) await iterator.next();
        change(sample.path("file"));
        const failure = await failureOf(readAll({ [Symbol.asyncIterator]: () => iterator }));
        assert.deepEqual(
          [failure.finding, failure.code, failure.passing],
          [findings.downloadFailed, "object_changed", true],
        );
      }
      assert.deepEqual(sample.openPaths(), []);
    });
  }

  test("what was done to it before it was opened is no reason to fail", async () => {
    using sample = sampleBucket();
    for (let round = 0; round < 20; round += 1) {
      sample.write("file", `${round}`);
      assert.equal((await readAll((await open(sample, "file")).bytes)).toString(), `${round}`);
    }
  });
});

describe("open files", () => {
  test("nothing stays open, however the reading ends", async () => {
    using sample = sampleBucket();
    sample.write("folder/file", Buffer.alloc(2 * MIB, "a"));
    await open(sample, "folder/file");
    assert.deepEqual(sample.openPaths(), [], "opened, never read");
    await (await open(sample, "folder/file")).bytes[Symbol.asyncIterator]().return?.();
    assert.deepEqual(sample.openPaths(), [], "left before the first byte");
    await readAll((await open(sample, "folder/file")).bytes);
    assert.deepEqual(sample.openPaths(), [], "read to the end");
    for await (const chunk of (await open(sample, "folder/file")).bytes) {
      assert.equal(chunk.length, 256 * 1024);
      assert.deepEqual(sample.openPaths(), [sample.path("folder/file")]);
      break;
    }
    assert.deepEqual(sample.openPaths(), [], "left in the middle");
    await findingOf(open(sample, "folder/none"));
    await findingOf(open(sample, "none/file"));
    await findingOf(open(sample, "folder"));
    assert.deepEqual(sample.openPaths(), [], "not found");
  });

  test("a signal that is aborted closes the file, also when nobody reads on", async () => {
    using sample = sampleBucket();
    sample.write("file", Buffer.alloc(2 * MIB, "a"));
    const ending = new AbortController();
    const iterator = (await open(sample, "file", ending.signal)).bytes[Symbol.asyncIterator]();
    await iterator.next();
    assert.deepEqual(sample.openPaths(), [sample.path("file")]);
    ending.abort(new Error("over"));
    await until("the file is closed", () => sample.openPaths().length === 0, { limitMs: 60_000 });
    await assert.rejects(iterator.next(), /over/);
    await assert.rejects(iterator.next(), /over/, "and does not look like the end later");
  });

  test("bytes that are asked for from two sides are the same bytes, once", async () => {
    using sample = sampleBucket();
    sample.write("file", "once");
    const { bytes } = await open(sample, "file");
    assert.equal((await readAll(bytes)).toString(), "once");
    assert.equal((await readAll(bytes)).toString(), "");
  });
});

describe("versions", () => {
  test("whatever is done to a file makes it another version, without tags", async () => {
    using sample = sampleBucket();
    const { objects } = sample;
    const path = sample.path("file");
    const changes: (() => void)[] = [
      () => writeFileSync(path, "same bytes"),
      () => {
        renameSync(path, `${path}2`);
        renameSync(`${path}2`, path);
      },
      () => chmodSync(path, 0o640),
      () => linkSync(path, `${path}3`),
      () => utimesSync(path, 1, 1),
    ];
    for (const change of changes) {
      sample.write("file", "same bytes");
      const { object } = await open(sample, "file");
      assert.equal(await objects.tag(object, clean), "done");
      change();
      assert.deepEqual(await objects.tagsOf({ bucket: sample.bucket, key: "file" }), {});
      assert.equal(await objects.tag(object, clean), "changed");
      assert.equal(await objects.delete(object), "changed");
      assert.equal(await findingOf(objects.open(object, never)), findings.objectNotFound);
    }
  });

  test("an older version that somebody wrote to is no version any more", async () => {
    using sample = sampleBucket();
    const { objects, bucket } = sample;
    const object = { bucket, key: "folder/file" };
    const version = await sample.put(object, "first");
    linkSync(sample.path("folder/file"), sample.outside("second name"));
    const kept = (await open(sample, "folder/file")).object;
    await sample.put(object, "second", { keepOlder: true });
    assert.equal((await readAll((await objects.open(kept, never)).bytes)).toString(), "first");
    assert.equal(kept.version === version, false, "a second name made it another version");
    appendFileSync(sample.outside("second name"), " and more");
    assert.equal(await findingOf(objects.open(kept, never)), findings.objectNotFound);
    assert.equal(await objects.tag(kept, clean), "changed");
  });

  test("a version that was not to be kept is gone", async () => {
    using sample = sampleBucket();
    const object = { bucket: sample.bucket, key: "file" };
    const version = await sample.put(object, "first");
    await sample.put(object, "second");
    assert.equal(await findingOf(sample.objects.open({ ...object, version }, never)), findings.objectNotFound);
  });

  test("an object can lie as deep as its key may be long", async () => {
    using sample = sampleBucket();
    const { objects, bucket } = sample;
    const key = `${"k/".repeat(511)}zz`;
    await sample.put({ bucket, key }, "deep");
    assert.equal((await readAll((await open(sample, key)).bytes)).toString(), "deep");
    assert.deepEqual(
      (await Array.fromAsync(objects.list(bucket))).map((object) => object.key),
      [key],
    );
  });
});

describe("what may not be read", () => {
  /** Root may read everything, so somebody else has to try. */
  async function asSomebodyElse<T>(doing: () => Promise<T>): Promise<T> {
    if (process.geteuid?.() !== 0) return await doing();
    process.seteuid?.(65_534);
    try {
      return await doing();
    } finally {
      process.seteuid?.(0);
    }
  }

  /** Folders of tests are for their owner only. */
  function forEverybody(sample: SampleBucket): void {
    for (const path of [sample.path(""), sample.bucketsDir, dirname(sample.bucketsDir)]) chmodSync(path, 0o755);
  }

  test("a file or folder that may not be read is denied", async () => {
    using sample = sampleBucket();
    forEverybody(sample);
    sample.write("file", "mine");
    sample.write("folder/file", "mine");
    sample.write("open", "everybody's");
    chmodSync(sample.path("file"), 0);
    chmodSync(sample.path("folder"), 0);
    const { bucket, objects } = sample;
    await asSomebodyElse(async () => {
      for (const key of ["file", "folder/file"]) {
        const failure = await failureOf(open(sample, key));
        assert.deepEqual([failure.finding, failure.passing], [findings.objectAccessDenied, false], key);
      }
      assert.equal((await readAll((await open(sample, "open")).bytes)).toString(), "everybody's");
      const failure = await failureOf(Array.fromAsync(objects.list(bucket)));
      assert.equal(failure.finding, findings.objectAccessDenied);
      assert.match(failure.message, /the folder folder of/);
    });
    assert.deepEqual(sample.openPaths(), []);
    chmodSync(sample.path("folder"), 0o755);
  });

  test("the folder that file systems keep for repairs does not stop a list", async () => {
    using sample = sampleBucket();
    forEverybody(sample);
    mkdirSync(sample.path("lost+found"), { mode: 0 });
    sample.write("open", "everybody's");
    const listed = await asSomebodyElse(() => Array.fromAsync(sample.objects.list(sample.bucket)));
    chmodSync(sample.path("lost+found"), 0o755);
    assert.deepEqual(
      listed.map(({ key }) => key),
      ["open"],
    );
  });

  test("a bucket that may not be written to cannot be tagged, and says so", async () => {
    using sample = sampleBucket();
    forEverybody(sample);
    sample.write("open", "everybody's");
    chmodSync(sample.path(""), 0o555);
    const { object } = await open(sample, "open");
    await asSomebodyElse(async () => {
      await assert.rejects(sample.objects.tag(object, clean), /^Error: cannot tag "open" in the bucket uploads$/);
      await assert.rejects(sample.objects.delete(object), /^Error: cannot delete "open" in the bucket uploads$/);
    });
    chmodSync(sample.path(""), 0o755);
  });
});
