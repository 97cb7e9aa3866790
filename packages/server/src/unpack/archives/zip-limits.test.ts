import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { packedAs, stored, zip as zipFile } from "../../../test/fixtures/zip-writer.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { LimitExceeded } from "../budget.ts";
import { zip } from "./zip.ts";
import { zipsOf } from "./zip-writer.ts";

const LOCAL_BYTES = 30;

/** Headers one behind the other, each of which takes all that follows for its name or its extra field. */
function overlapping(count: number, length: { name?: number; extra?: number }): Buffer {
  const header = zipFile([stored("", Buffer.alloc(0))]).subarray(0, LOCAL_BYTES);
  header.writeUInt16LE(length.name ?? 0, 26);
  header.writeUInt16LE(length.extra ?? 0, 28);
  const headers = Buffer.concat(Array.from({ length: count }, () => header));
  const entries = Array.from({ length: count }, (_, index) => ({
    ...stored("", Buffer.alloc(0)),
    central: { offset: index * LOCAL_BYTES },
  }));
  // The members of this one are left out, its directory is about the headers above.
  const whole = zipFile(entries);
  const directory = whole.subarray(count * LOCAL_BYTES, -22);
  const end = Buffer.from(whole.subarray(-22));
  const front = Buffer.concat([headers, Buffer.alloc(70_000, "n")]);
  end.writeUInt32LE(front.length, 16);
  return Buffer.concat([front, directory, end]);
}

describe("an archive that is made to keep us busy", () => {
  test("names that members share are not kept for each of them", async () => {
    const opened = await openContainer(zip, overlapping(100, { name: 60_000 }));
    assert.equal(opened?.members.length, 100);
    assert.ok(opened.members.every(({ name }) => name.length <= 512));
  });

  test("extra fields that members share are charged for each of them", async () => {
    const opened = await openContainer(zip, overlapping(100, { extra: 60_000 }));
    assert.ok(opened && opened.work > 100 * 60_000);
  });

  test("a directory that many end records share is not read for each of them", async () => {
    const file = zipFile(Array.from({ length: 50 }, (_, index) => stored(`${index}`, Buffer.alloc(0))));
    const end = file.subarray(-22);
    const at = file.length - 22 - end.readUInt32LE(12);
    const ends = Array.from({ length: 100 }, (_, index) => {
      const next = Buffer.from(end);
      next.writeUInt32LE(file.length - at + index * 22, 12);
      return next;
    });
    await assert.rejects(openContainer(zip, Buffer.concat([file, ...ends]), { members: 1000 }), LimitExceeded);
  });

  test("a directory with more entries than there may be members ends it before they are all kept", async () => {
    const file = zipFile(
      Array.from({ length: 500 }, () => ({ ...stored("a", Buffer.alloc(0)), central: { offset: 0 } })),
    );
    await assert.rejects(openContainer(zip, file, { members: 100 }), LimitExceeded);
  });

  test("what is inflated in vain is charged", async () => {
    const content = Buffer.alloc(200_000);
    const member = packedAs(8, { name: "a", packed: deflateRawSync(content), content });
    const opened = await openContainer(zip, zipFile([member]), { memberInMemoryBytes: 100_000 });
    assert.ok(opened && opened.work > 25_000);
  });
  test("more members for 7-Zip than one archive can list come out all the same", async () => {
    const content = Buffer.from("packed by a method that is left to 7-Zip; ".repeat(9));
    const packed = packedBy7z(content, "zip", ["-mm=bzip2"]);
    const start = LOCAL_BYTES + packed.readUInt16LE(26) + packed.readUInt16LE(28);
    const bzip2 = packed.subarray(start, start + packed.readUInt32LE(18));
    const members = Array.from({ length: 10_050 }, (_, index) => {
      return packedAs(12, { name: `${index}`, packed: bzip2, content });
    });
    const opened = await openContainer(zip, zipFile(members));
    assert.equal(opened?.outcome, "opened");
    assert.equal(opened.members.filter((member) => member.content.equals(content)).length, members.length);
  });

  test("members that overlap are more than one archive may be large", () => {
    const packed = { ...memoryBlob(Buffer.alloc(0)), size: 2 ** 30 };
    const members = Array.from({ length: 9 }, () => ({ method: 12, flags: 0, crc: 0, unpackedBytes: 1, packed }));
    assert.equal([...zipsOf(members)].length, 5);
  });
});
