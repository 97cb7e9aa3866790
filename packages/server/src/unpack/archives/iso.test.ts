import assert from "node:assert/strict";
import { test } from "node:test";
import { iso as isoFile } from "../../../test/fixtures/archives.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { iso } from "./iso.ts";

const payload = Buffer.from("a file on a disc\n".repeat(20));
const hidden = Buffer.from("a file in one of its trees only\n".repeat(20));
const SECTOR = 2048;

/** A disc whose second tree, the one that 7-Zip prefers, has another file than the first. */
function discOfTwoTrees(): Buffer {
  const disc = Buffer.concat([isoFile(hidden), isoFile(payload).subarray(18 * SECTOR)]);
  const second = Buffer.from(disc.subarray(16 * SECTOR, 17 * SECTOR));
  const moved = disc.length / SECTOR - isoFile(payload).subarray(18 * SECTOR).length / SECTOR;
  second[0] = 2;
  second.write("%/E", 88, "latin1");
  second.writeUInt32LE(moved, 158);
  second.writeUInt32BE(moved, 162);
  const end = Buffer.from(disc.subarray(17 * SECTOR, 18 * SECTOR));
  const folder = disc.subarray(moved * SECTOR, (moved + 1) * SECTOR);
  for (const at of [0, folder[0] ?? 0]) folder.writeUInt32LE(moved + 2, at + 2);
  const file = (folder[0] ?? 0) * 2;
  folder.writeUInt32LE(moved + 2, file + 2);
  // Both descriptors and the end stand before the trees: all of these move by one sector.
  const shifted = Buffer.concat([disc.subarray(0, 17 * SECTOR), second, end, disc.subarray(18 * SECTOR)]);
  for (const base of [16, 17])
    shifted.writeUInt32LE(shifted.readUInt32LE(base * SECTOR + 158) + 1, base * SECTOR + 158);
  const first = shifted.subarray(19 * SECTOR, 20 * SECTOR);
  first.writeUInt32LE(20, (first[0] ?? 0) * 2 + 2);
  return shifted;
}

test("the files of every tree come out", async () => {
  const opened = await openContainer(iso, discOfTwoTrees());
  assert.ok(opened?.members.some(({ content }) => content.equals(hidden)));
  assert.ok(opened?.members.some(({ content }) => content.equals(payload)));
});

test("what stands in front of the disc is left over", async () => {
  const disc = isoFile(payload);
  disc.write("a program that starts from this disc", 100);
  const opened = await openContainer(iso, disc);
  assert.equal(opened?.outcome, "opened");
  assert.deepEqual(opened?.rest, [{ start: 0, end: 16 * SECTOR }]);
});

test("a disc that was cut off is unreadable, and gives what there is", async () => {
  const disc = isoFile(payload);
  const opened = await openContainer(iso, disc.subarray(0, 19 * SECTOR + 100));
  assert.equal(opened?.outcome, "unreadable");
  assert.ok(opened?.members.some(({ content }) => content.equals(payload.subarray(0, 100))));
});

test("folders that lead to each other come to an end", async () => {
  const disc = isoFile(payload);
  const record = disc.subarray(18 * SECTOR + 2 * (disc[18 * SECTOR] ?? 0));
  record.writeUInt8(2, 25);
  record.writeUInt32LE(18, 2);
  record.writeUInt32LE(SECTOR, 10);
  assert.ok(await openContainer(iso, disc));
});
