import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { findings } from "@lazaret/contract";
import { failureOf } from "../../../../test/contracts/object-stores.ts";
import { type SampleBucket, sampleBucket } from "../../../../test/contracts/sample-bucket.ts";
import { until } from "../../../../test/support/until.ts";
import type { WatchOptions } from "./watch-objects.ts";

const bucket = "uploads";
const quick: WatchOptions = { quietMs: 50, sweepMs: 100 };
const limitMs = 60_000;

interface Watch extends AsyncDisposable {
  keys: string[];
  ended: Promise<void>;
  hears(...keys: string[]): Promise<void>;
}

function watch({ objects }: SampleBucket): Watch {
  const ending = new AbortController();
  const keys: string[] = [];
  const listen = async (): Promise<void> => {
    for await (const { key } of objects.watch(bucket, ending.signal)) keys.push(key);
  };
  const ended = listen();
  return {
    keys,
    ended,
    hears: (...wanted) => until(`told of ${wanted}`, () => wanted.every((key) => keys.includes(key)), { limitMs }),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await ended;
    },
  };
}

test("folders that are moved into the bucket are told of with all that is in them, however old it is", async () => {
  for (const maxFolders of [0, 100]) {
    using sample = sampleBucket({ watch: { ...quick, maxFolders } });
    await using watching = watch(sample);
    for (const name of ["one", "two"]) {
      mkdirSync(sample.outside(`${name}/deep`), { recursive: true });
      writeFileSync(sample.outside(`${name}/deep/file`), name);
      renameSync(sample.outside(name), sample.path(name));
      await watching.hears(`${name}/deep/file`);
    }
    renameSync(sample.path("one"), sample.path("three"));
    await watching.hears("three/deep/file");
  }
});

test("a folder that was removed and made again is watched again", async () => {
  using sample = sampleBucket({ watch: { ...quick, sweepMs: 3_600_000 } });
  sample.write("folder/a", "1");
  await using watching = watch(sample);
  await watching.hears("folder/a");
  rmSync(sample.path("folder"), { recursive: true });
  sample.write("folder/b", "2");
  await watching.hears("folder/b");
  sample.write("folder/c", "3");
  await watching.hears("folder/c");
});

test("an object is told of once, though alarms and sweeps both find it", async () => {
  using sample = sampleBucket({ watch: { quietMs: 30, sweepMs: 1 } });
  await using watching = watch(sample);
  for (let count = 0; count < 20; count += 1) {
    sample.write(`file ${count}`, "bytes");
    await watching.hears(`file ${count}`);
  }
  sample.write("last", "bytes");
  await watching.hears("last");
  assert.equal(new Set(watching.keys).size, watching.keys.length);
});

test("links and what the store keeps for itself are never told of", async () => {
  using sample = sampleBucket({ watch: quick });
  await using watching = watch(sample);
  writeFileSync(sample.outside("secret"), "secret");
  symlinkSync(sample.outside("secret"), sample.path("link"));
  symlinkSync(sample.outside(""), sample.path("folder"));
  await sample.put({ bucket, key: "file" }, "1");
  await sample.put({ bucket, key: "file" }, "2", { keepOlder: true });
  await sample.objects.tag((await sample.objects.open({ bucket, key: "file" }, AbortSignal.timeout(limitMs))).object, {
    key: "scanner",
    value: "clean",
  });
  await watching.hears("file");
  await sample.put({ bucket, key: "last" }, "1");
  await watching.hears("last");
  assert.deepEqual(new Set(watching.keys), new Set(["file", "last"]));
});

test("a file that went before it was quiet is forgotten", async () => {
  using sample = sampleBucket({ watch: quick });
  await using watching = watch(sample);
  for (let count = 0; count < 50; count += 1) {
    sample.write(`short-lived ${count}`, "bytes");
    rmSync(sample.path(`short-lived ${count}`));
  }
  sample.write("last", "bytes");
  await watching.hears("last");
  assert.deepEqual(watching.keys, ["last"]);
});

test("a bucket that goes away ends the watch with a reason", async () => {
  using sample = sampleBucket({ watch: quick });
  sample.write("file", "bytes");
  const objects = sample.objects.watch(bucket, new AbortController().signal);
  const ended = failureOf(Array.fromAsync(objects));
  rmSync(sample.path(""), { recursive: true });
  assert.equal((await ended).finding, findings.objectNotFound);
});

test("a watch that nobody listens to ends with its signal", async () => {
  using sample = sampleBucket({ watch: quick });
  const ending = new AbortController();
  sample.objects.watch(bucket, ending.signal);
  sample.write("file", "bytes");
  ending.abort();
  await until("nothing is open", () => sample.openPaths().length === 0, { limitMs });
});
