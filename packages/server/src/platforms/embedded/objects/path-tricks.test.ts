import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import fc from "fast-check";
import { failureOf, findingOf, never, readAll } from "../../../../test/contracts/object-stores.ts";
import { type SampleBucket, sampleBucket } from "../../../../test/contracts/sample-bucket.ts";

const secret = "secret of the machine";
/** Part of every system, and nothing that npm has to know of. */
const makePipe = "mkfifo";

function find({ objects, bucket }: SampleBucket, key: string): Promise<string> {
  return findingOf(objects.open({ bucket, key }, never));
}

async function keysOf({ objects, bucket }: SampleBucket): Promise<string[]> {
  return (await Array.fromAsync(objects.list(bucket))).map(({ key }) => key);
}

for (const throughHandles of [true, false]) {
  describe(throughHandles ? "path tricks" : "path tricks where handles have no paths", () => {
    test("a link in place of a file is no object", async () => {
      using sample = sampleBucket({ throughHandles });
      writeFileSync(sample.outside("secret"), secret);
      sample.write("real", "fine");
      symlinkSync(sample.outside("secret"), sample.path("absolute"));
      symlinkSync("../../outside/secret", sample.path("relative"));
      symlinkSync("real", sample.path("within"));
      symlinkSync("nowhere", sample.path("dangling"));
      for (const key of ["absolute", "relative", "within", "dangling"]) {
        assert.equal(await find(sample, key), findings.objectNotFound, key);
      }
      assert.deepEqual(await keysOf(sample), ["real"]);
    });

    test("a link in place of a folder leads nowhere", async () => {
      using sample = sampleBucket({ throughHandles });
      const { objects, bucket } = sample;
      mkdirSync(sample.outside("deep"));
      writeFileSync(sample.outside("deep/secret"), secret);
      sample.write("folder/file", "fine");
      symlinkSync(sample.outside(""), sample.path("folder/link"));
      symlinkSync(sample.outside("deep"), sample.path("link"));
      for (const key of ["link/secret", "folder/link/deep/secret"]) {
        assert.equal(await find(sample, key), findings.objectNotFound, key);
        await assert.rejects(sample.put({ bucket, key }, "overwritten"), /cannot put/);
      }
      assert.deepEqual(await keysOf(sample), ["folder/file"]);
      assert.deepEqual(await Array.fromAsync(objects.list(bucket, { prefix: "link/" })), []);
      assert.equal(readFileSync(sample.outside("deep/secret"), "utf8"), secret);
    });

    test("a bucket that is a link is none", async () => {
      using sample = sampleBucket({ throughHandles });
      writeFileSync(sample.outside("secret"), secret);
      symlinkSync(sample.outside(""), join(sample.bucketsDir, "linked"));
      const object = { bucket: "linked", key: "secret" };
      assert.equal(await findingOf(sample.objects.open(object, never)), findings.objectNotFound);
      assert.equal(await findingOf(Array.fromAsync(sample.objects.list("linked"))), findings.objectNotFound);
    });

    test("the folder of all buckets may itself be reached by a link", async () => {
      using sample = sampleBucket({ throughHandles });
      sample.write("file", "fine");
      renameSync(sample.bucketsDir, sample.outside("moved"));
      symlinkSync(sample.outside("moved"), sample.bucketsDir);
      const opened = await sample.objects.open({ bucket: sample.bucket, key: "file" }, never);
      assert.equal((await readAll(opened.bytes)).toString(), "fine");
    });

    test("tags and deleting do not follow links that somebody planted", async () => {
      using sample = sampleBucket({ throughHandles });
      const { objects, bucket } = sample;
      sample.write("file", "fine");
      symlinkSync(sample.outside(""), sample.path(".lazaret"));
      const { object } = await objects.open({ bucket, key: "file" }, never);
      await assert.rejects(
        objects.tag(object, { key: "scanner", value: "clean" }),
        /cannot tag "file" in the bucket uploads/,
      );
      assert.deepEqual(await objects.tagsOf(object), {});
      await objects.delete(object).catch(() => {});
      assert.deepEqual(readdirSync(sample.outside("")), []);
    });

    test("an object whose folder became a link is not touched", async () => {
      using sample = sampleBucket({ throughHandles });
      const { objects, bucket } = sample;
      sample.write("folder/file", "fine");
      const { object } = await objects.open({ bucket, key: "folder/file" }, never);
      renameSync(sample.path("folder"), sample.outside("folder"));
      symlinkSync(sample.outside("folder"), sample.path("folder"));
      assert.equal(await objects.tag(object, { key: "scanner", value: "clean" }), "changed");
      assert.equal(await objects.delete(object), "done");
      assert.equal(readFileSync(sample.outside("folder/file"), "utf8"), "fine");
    });

    test("pipes, sockets and folders are no objects, and nobody waits for them", async () => {
      using sample = sampleBucket({ throughHandles });
      assert.equal(spawnSync(makePipe, [sample.path("pipe")]).status, 0);
      const server = createServer().listen(sample.path("socket"));
      await once(server, "listening");
      mkdirSync(sample.path("folder"));
      sample.write("file", "fine");
      for (const key of ["pipe", "socket", "folder", "file/x"]) {
        assert.equal(await find(sample, key), findings.objectNotFound, key);
      }
      assert.deepEqual(await keysOf(sample), ["file"]);
      server.close();
      await once(server, "close");
    });

    test("a second name of a file is an object like others", async () => {
      using sample = sampleBucket({ throughHandles });
      sample.write("one", "fine");
      linkSync(sample.path("one"), sample.path("two"));
      const opened = await sample.objects.open({ bucket: sample.bucket, key: "two" }, never);
      assert.equal((await readAll(opened.bytes)).toString(), "fine");
    });
  });
}

test("who swaps a folder for a link again and again never gets anything from outside", async () => {
  using sample = sampleBucket();
  const { objects, bucket } = sample;
  writeFileSync(sample.outside("file"), secret);
  sample.write("real/file", "fine");
  const swapping = new AbortController();
  const swap = async (): Promise<void> => {
    while (!swapping.signal.aborted) {
      symlinkSync(sample.outside(""), sample.path("swapped"));
      await new Promise(setImmediate);
      rmSync(sample.path("swapped"));
      renameSync(sample.path("real"), sample.path("swapped"));
      await new Promise(setImmediate);
      renameSync(sample.path("swapped"), sample.path("real"));
    }
  };
  const swaps = swap();
  const seen = new Set<string>();
  for (let tries = 0; tries < 100; tries += 1) {
    const read = objects.open({ bucket, key: "swapped/file" }, never).then(async ({ object, bytes }) => {
      seen.add((await readAll(bytes)).toString());
      await objects.delete({ ...object, mark: "0".repeat(32) });
    });
    await read.catch(async (error) => seen.add((await failureOf(Promise.reject(error))).finding));
  }
  swapping.abort();
  await swaps;
  assert.ok(!seen.has(secret));
  assert.ok(seen.isSubsetOf(new Set(["fine", findings.objectNotFound, findings.downloadFailed])), [...seen].join());
  assert.equal(readFileSync(sample.outside("file"), "utf8"), secret);
  assert.deepEqual(sample.openPaths(), []);
});

/** Strings of all 16-bit units, in which path tricks are frequent. */
const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
const trick = fc.constantFrom(
  "..",
  ".",
  "/",
  "//",
  "\\",
  "\0",
  "~",
  "%2e%2e",
  "%2f",
  ".lazaret",
  "../outside/x",
  "a",
  "b",
);
const anyKey = fc.oneof(
  fc.array(fc.oneof(unit, trick), { maxLength: 12 }).map((parts) => parts.join("")),
  fc.array(trick, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/")),
  fc.string({ maxLength: 300 }),
);

test("any key is either refused, or kept in a file inside the bucket's folder and nowhere else", async () => {
  await fc.assert(
    fc.asyncProperty(anyKey, fc.uint8Array({ maxLength: 50 }), async (key, bytes) => {
      using sample = sampleBucket();
      const { objects, bucket } = sample;
      const object = { bucket, key };
      if (objects.problemWith(object) !== undefined) {
        await assert.rejects(sample.put(object, bytes), /cannot put/);
        assert.equal(await find(sample, key), findings.objectNotFound);
        return;
      }
      await sample.put(object, bytes);
      assert.deepEqual(readFileSync(sample.path(key)), Buffer.from(bytes));
      assert.deepEqual(await readAll((await objects.open(object, never)).bytes), Buffer.from(bytes));
      assert.deepEqual(await keysOf(sample), [key]);
      assert.deepEqual(readdirSync(sample.outside("")), []);
      assert.deepEqual(readdirSync(sample.bucketsDir), [bucket]);
      assert.ok(existsSync(sample.path("")));
    }),
    { numRuns: 60 },
  );
});
