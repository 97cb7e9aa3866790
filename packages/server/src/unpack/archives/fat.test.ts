import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { noise, patched, u16 } from "../../../test/fixtures/corpus/container.ts";
import { fatOf } from "../../../test/fixtures/corpus/disks.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { fat } from "./fat.ts";

const content = noise(5000);
const SECTOR = 512;

test("what is a file, a folder and no file at all is told apart", async () => {
  const opened = await openContainer(fat, fatOf(content, { inFolder: true, scattered: true }));
  assert.equal(opened?.outcome, "opened");
  assert.deepEqual(opened.members, [{ name: "SAMPLE  TXT", content }]);
});

test("a file behind the mark of the end comes out, as Linux goes on there", async () => {
  const volume = fatOf(content);
  const root = 3 * SECTOR;
  const entry = volume.subarray(root, root + 32);
  const moved = patched(patched(volume, root + 64, entry), root, Buffer.alloc(32));
  assert.deepEqual((await openContainer(fat, moved))?.members[0]?.content, content);
});

test("clusters of a deleted file come out as leftovers", async () => {
  const volume = patched(fatOf(content), 3 * SECTOR, Buffer.of(0xe5));
  const opened = await openContainer(fat, volume);
  const [free] = opened?.members ?? [];
  assert.equal(free?.leftover, true);
  assert.deepEqual(free.content.subarray(0, content.length), content);
});

test("what stands in front of the tables and behind the volume is left over", async () => {
  const volume = Buffer.concat([fatOf(content), noise(1000)]);
  const opened = await openContainer(fat, volume);
  assert.deepEqual(opened?.rest, [
    { start: 0, end: SECTOR },
    { start: volume.length - 1000, end: volume.length },
  ]);
});

describe("a volume that is damaged is never clean", () => {
  const volume = fatOf(content);
  const damaged: Record<string, Buffer> = {
    "cut in the middle of its file": volume.subarray(0, 6 * SECTOR),
    "a chain that ends too soon": patched(fatOf(content, { bits: 16, clusters: 5000 }), SECTOR + 8, u16(0xffff)),
    "a file in a cluster that is not there": patched(volume, 3 * SECTOR + 26, u16(4000)),
  };
  // Both copies of the table.
  const second = SECTOR + Math.ceil((5002 * 2) / SECTOR) * SECTOR;
  damaged["a chain that ends too soon"] = patched(
    damaged["a chain that ends too soon"] as Buffer,
    second + 8,
    u16(0xffff),
  );
  for (const [name, file] of Object.entries(damaged)) {
    test(name, async () => {
      const opened = await openContainer(fat, file);
      assert.equal(opened?.place.sure, true);
      assert.equal(opened.outcome, "unreadable");
    });
  }
});

describe("hostile volumes come to an end", () => {
  test("a chain in a circle, of a file of 4 GB", async () => {
    const volume = fatOf(content, { bits: 16, clusters: 5000 });
    const circle = patched(volume, SECTOR + 8, u16(4));
    const root = SECTOR + 2 * Math.ceil((5002 * 2) / SECTOR) * SECTOR;
    const opened = await openContainer(fat, patched(circle, root + 28, Buffer.alloc(4, 0xff)));
    assert.equal(opened?.outcome, "unreadable");
    assert.ok(opened.members.every((member) => member.content.length <= 5000 * SECTOR));
  });
  test("a folder that holds itself", async () => {
    const volume = fatOf(content, { inFolder: true });
    const entry = Buffer.from(volume.subarray(3 * SECTOR, 3 * SECTOR + 32));
    const folder = 4 * SECTOR + SECTOR;
    assert.ok(await openContainer(fat, patched(volume, folder + 32, entry)));
  });
  test("a table with fewer entries than there are clusters", async () => {
    const volume = patched(fatOf(content), 22, u16(1));
    volume.writeUInt16LE(60_000, 19);
    assert.ok(await openContainer(fat, volume));
  });
});

describe("what is no such volume is none", () => {
  const others: Record<string, Buffer> = {
    "a boot sector without a volume": fatOf(content).subarray(0, SECTOR),
    noise: noise(4096),
    zeros: Buffer.alloc(4096),
    "a sector size that is no power of two": patched(fatOf(content), 11, u16(500)),
    "no copies of the table": patched(fatOf(content), 16, Buffer.of(0)),
  };
  for (const [name, file] of Object.entries(others)) {
    test(name, async () => assert.equal(await openContainer(fat, file), undefined));
  }
});
