import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { findings } from "@lazaret/contract";
import { findingOf, never, readAll } from "../../../../test/contracts/object-stores.ts";
import { type SampleBucket, sampleBucket } from "../../../../test/contracts/sample-bucket.ts";
import type { SeenObject } from "../../../model/source.ts";
import { type Buckets, bucketFolders, digestOf } from "./buckets.ts";
import { objectTags } from "./tags.ts";
import { deleteVersion, keptVersions } from "./versions.ts";

const clean = { key: "scanner", value: "clean" };
const bucket = "uploads";

async function seen({ objects }: SampleBucket, key: string): Promise<SeenObject> {
  return (await objects.open({ bucket, key }, never)).object;
}

async function textOf({ objects }: SampleBucket, key: string): Promise<string> {
  return (await readAll((await objects.open({ bucket, key }, never)).bytes)).toString();
}

describe("deleting", () => {
  const asidePath = (sample: SampleBucket, { key, mark }: SeenObject): string =>
    sample.path(`.lazaret/deleting/${digestOf(key)}.${mark}`);

  test("a file that comes at the same moment is never deleted", async () => {
    using sample = sampleBucket();
    mkdirSync(sample.path(".lazaret/deleting"), { recursive: true });
    for (let round = 0; round < 40; round += 1) {
      sample.write("file", "scanned");
      const object = await seen(sample, "file");
      await writeFile(sample.outside("new"), "not scanned");
      const deleting = sample.objects.delete(object);
      for (let steps = 0; steps < round % 20; steps += 1) await new Promise(setImmediate);
      await rename(sample.outside("new"), sample.path("file"));
      await deleting;
      assert.equal(await textOf(sample, "file"), "not scanned");
    }
    assert.deepEqual(readdirSync(sample.path(".lazaret/deleting")), []);
  });

  test("a file that comes between the last look and the deleting is put back, though it looks the same", async () => {
    using sample = sampleBucket();
    sample.write("file", "scanned");
    utimesSync(sample.path("file"), 1000, 1000);
    const object = await seen(sample, "file");
    writeFileSync(sample.outside("new"), "changed");
    utimesSync(sample.outside("new"), 1000, 1000);
    const buckets = bucketFolders({ bucketsDir: sample.bucketsDir });
    const sly: Buckets = {
      ...buckets,
      async openParent(...named) {
        const parent = await buckets.openParent(...named);
        const at = (name: string): string => {
          if (existsSync(sample.outside("new"))) renameSync(sample.outside("new"), sample.path("file"));
          return parent.at(name);
        };
        return { ...parent, at };
      },
    };
    assert.equal(await deleteVersion(sly, keptVersions(buckets), object), "changed");
    assert.equal(existsSync(sample.outside("new")), false);
    assert.equal(await textOf(sample, "file"), "changed");
  });

  test("after a crash in between the next call finishes it", async () => {
    using sample = sampleBucket();
    sample.write("folder/file", "infected");
    const object = await seen(sample, "folder/file");
    mkdirSync(sample.path(".lazaret/deleting"), { recursive: true });
    renameSync(sample.path("folder/file"), asidePath(sample, object));
    assert.equal(await sample.objects.delete(object), "done");
    assert.deepEqual(readdirSync(sample.path(".lazaret/deleting")), []);
    assert.equal(await findingOf(seen(sample, "folder/file")), findings.objectNotFound);
  });

  test("after a crash in between the next call finishes it, also when the folder is gone by then", async () => {
    using sample = sampleBucket();
    sample.write("folder/file", "infected");
    const object = await seen(sample, "folder/file");
    mkdirSync(sample.path(".lazaret/deleting"), { recursive: true });
    renameSync(sample.path("folder/file"), asidePath(sample, object));
    rmSync(sample.path("folder"), { recursive: true });
    assert.equal(await sample.objects.delete(object), "done");
    assert.deepEqual(readdirSync(sample.path(".lazaret/deleting")), []);
  });

  test("a file that was moved aside by mistake is put back by the next call", async () => {
    using sample = sampleBucket();
    sample.write("file", "scanned");
    const object = await seen(sample, "file");
    sample.write("file", "not scanned");
    mkdirSync(sample.path(".lazaret/deleting"), { recursive: true });
    renameSync(sample.path("file"), asidePath(sample, object));
    assert.equal(await sample.objects.delete(object), "changed");
    assert.equal(await textOf(sample, "file"), "not scanned");
    assert.deepEqual(readdirSync(sample.path(".lazaret/deleting")), []);
  });

  test("one that cannot be put back, because a newer has its place, is kept as an older version", async () => {
    using sample = sampleBucket();
    sample.write("file", "scanned");
    const object = await seen(sample, "file");
    sample.write("file", "not scanned");
    mkdirSync(sample.path(".lazaret/deleting"), { recursive: true });
    renameSync(sample.path("file"), asidePath(sample, object));
    sample.write("file", "newest");
    assert.equal(await sample.objects.delete(object), "changed");
    assert.equal(await textOf(sample, "file"), "newest");
    const versions = sample.path(`.lazaret/versions/${digestOf("file")}`);
    assert.deepEqual(
      readdirSync(versions).map((name) => readFileSync(`${versions}/${name}`, "utf8")),
      ["not scanned"],
    );
  });

  test("its tags go with it", async () => {
    using sample = sampleBucket();
    sample.write("file", "infected");
    const object = await seen(sample, "file");
    await sample.objects.tag(object, clean);
    await sample.objects.delete(object);
    assert.deepEqual(tagFiles(sample), []);
  });
});

describe("tags", () => {
  test("tags with any text in them come back as they were", async () => {
    using sample = sampleBucket();
    sample.write("file", "bytes");
    const object = await seen(sample, "file");
    const tags = { "": "empty", "../..": "/etc/passwd", "ü\ud83e": "\udc00\0", scanner: "clean", Scanner: "no" };
    for (const [key, value] of Object.entries(tags)) await sample.objects.tag(object, { key, value });
    assert.deepEqual(await sample.objects.tagsOf(object), tags);
  });

  test("tags that are set at the same moment are all kept", async () => {
    using sample = sampleBucket();
    sample.write("file", "bytes");
    const object = await seen(sample, "file");
    const keys = Array.from({ length: 20 }, (_, index) => `tag ${index}`);
    await Promise.all(keys.map((key) => sample.objects.tag(object, { key, value: "yes" })));
    assert.deepEqual(Object.keys(await sample.objects.tagsOf(object)).toSorted(), keys.toSorted());
  });

  test("what is no tag's file is passed over", async () => {
    using sample = sampleBucket();
    sample.write("file", "bytes");
    const object = await seen(sample, "file");
    await sample.objects.tag(object, clean);
    const [name = ""] = tagFiles(sample);
    const bogus = ["", "not json", "null", "{}", '{"key":1,"version":2,"tag":3}', `"${"x".repeat(70_000)}"`];
    for (const [index, content] of bogus.entries()) writeFileSync(sample.path(`${name}.${index}`), content);
    assert.deepEqual(await sample.objects.tagsOf(object), { scanner: "clean" });
  });

  test("tags of versions that are gone are tidied away, and no others", async () => {
    using sample = sampleBucket();
    const buckets = bucketFolders({ bucketsDir: sample.bucketsDir });
    // All in one place, so that they are found soon.
    const keys = keysInOnePlace("stays", 6);
    for (const key of keys) {
      sample.write(key, "bytes");
      await sample.objects.tag(await seen(sample, key), clean);
    }
    const [stays = "", removed = "", replaced = "", , draft = "", oldDraft = ""] = keys;
    rmSync(sample.path(removed));
    sample.write(replaced, "other bytes");
    const folder = `.lazaret/tags/${digestOf(stays).slice(0, 3)}`;
    for (const each of [draft, oldDraft]) writeFileSync(sample.path(`${folder}/${digestOf(each)}.draft`), "{");
    utimesSync(sample.path(`${folder}/${digestOf(oldDraft)}.draft`), 1, 1);
    const gone = [digestOf(removed), digestOf(replaced), `${digestOf(oldDraft)}.draft`];
    const isLeft = (): boolean => tagFiles(sample).some((name) => gone.some((each) => name.includes(each)));

    const exists = async (object: { key: string }): Promise<boolean> => ![removed, replaced].includes(object.key);
    const place = Number.parseInt(digestOf(stays).slice(0, 3), 16);
    const tags = objectTags(buckets, exists, (below) => (below === 4096 ? place : randomInt(below)));
    for (let tries = 0; tries < 1000 && isLeft(); tries += 1) await tags.tidy(bucket);
    assert.equal(isLeft(), false);
    assert.deepEqual(await sample.objects.tagsOf({ bucket, key: stays }), { scanner: "clean" });
    assert.equal(tagFiles(sample).length, 5, "four tags and a draft that somebody may be writing");
  });
});

/** Keys whose tags are kept in the same folder. */
function keysInOnePlace(first: string, count: number): string[] {
  const place = digestOf(first).slice(0, 3);
  const keys = [first];
  for (let index = 0; keys.length < count; index += 1) {
    if (digestOf(`key ${index}`).startsWith(place)) keys.push(`key ${index}`);
  }
  return keys;
}

function tagFiles(sample: SampleBucket): string[] {
  const names = readdirSync(sample.path(".lazaret/tags"), { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.includes("/")).map((name) => `.lazaret/tags/${name}`);
}
