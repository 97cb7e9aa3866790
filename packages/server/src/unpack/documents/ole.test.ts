import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { deflated, zip } from "../../../test/fixtures/zip-writer.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { containersIn } from "../openers.ts";
import { oleNative } from "./ole-native.ts";
import { powerPoint } from "./powerpoint.ts";

const u16 = (value: number): Buffer => Buffer.of(value & 0xff, value >> 8);
const u32 = (value: number): Buffer => Buffer.of(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff, value >>> 24);

describe("a stream of PowerPoint's", () => {
  const record = (instance: number, type: number, content: Uint8Array): Buffer =>
    Buffer.concat([u16(instance << 4), u16(type), u32(content.length), content]);
  const object = Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), randomBytes(3000)]);
  const compressed = record(1, 0x1011, Buffer.concat([u32(object.length), deflateSync(object)]));
  const document = record(0xf, 0x3e8, Buffer.from("the document and its slides"));

  test("its compressed and its plain objects come out, wherever they stand", async () => {
    const plain = record(0, 0x1011, object);
    const junk = Buffer.from("something in between");
    const opened = await openContainer(
      powerPoint,
      Buffer.concat([document, compressed, junk, plain, junk, compressed]),
    );
    assert.equal(opened?.outcome, "opened");
    assert.equal(opened?.place.sure, false);
    assert.equal(opened?.members.length, 3);
    assert.ok(opened?.members.every(({ content }) => content.equals(object)));
  });

  test("one across the border of what is read at once, with a wrong length and a wrong checksum", async () => {
    const wrong = Buffer.from(compressed);
    wrong.writeUInt32LE(5, 4);
    wrong.writeUInt32LE(5, wrong.length - 4);
    for (const before of [1024 * 1024 - 3, 1024 * 1024 - 2, 1024 * 1024 - 1, 1024 * 1024]) {
      const opened = await openContainer(powerPoint, Buffer.concat([Buffer.alloc(before), wrong]));
      assert.deepEqual(
        opened?.members.map(({ content }) => content.equals(object)),
        [true],
        String(before),
      );
    }
  });

  test("an object is found behind any number of bytes that look like the beginning of one", async () => {
    const lure = Buffer.from("\x20\0\x11\x10", "latin1");
    for (const lures of [0, 1, 255, 256, 257, 5000]) {
      const before = Buffer.concat(Array.from({ length: lures }, () => lure));
      assert.deepEqual(powerPoint.find(memoryBlob(Buffer.concat([before, randomBytes(50)]))), [], String(lures));
      const opened = await openContainer(powerPoint, Buffer.concat([before, compressed]));
      assert.equal(opened?.members.length, 1, String(lures));
    }
    // Nothing stands before the first byte, and nothing behind the last.
    assert.deepEqual(powerPoint.find(memoryBlob(compressed.subarray(1))), []);
    assert.deepEqual(powerPoint.find(memoryBlob(compressed.subarray(0, 13))), []);
  });

  test("its vector pictures come out", async () => {
    const head = Buffer.concat([randomBytes(16), Buffer.alloc(32), Buffer.of(0, 0xfe)]);
    const two = Buffer.concat([randomBytes(16), head]);
    for (const [type, instance, before] of [
      [0xf01a, 0x3d4, head],
      [0xf01b, 0x217, two],
      [0xf01c, 0x542, head],
    ] as const) {
      const picture = record(instance, type, Buffer.concat([before, deflateSync(object)]));
      const opened = await openContainer(powerPoint, picture);
      assert.deepEqual(
        opened?.members.map(({ content }) => content.equals(object)),
        [true],
      );
    }
  });

  test("is told from others, and its work is in proportion", async () => {
    assert.deepEqual(powerPoint.find(memoryBlob(Buffer.from("\x11\x10 in a text \x11\x10"))), []);
    assert.deepEqual(powerPoint.find(memoryBlob(Buffer.alloc(10))), []);
    const works = await Promise.all(
      [1000, 10_000].map(async (count) => {
        const file = Buffer.concat([compressed, Buffer.from("\x10\0\x11\x10".repeat(count), "latin1")]);
        return ((await openContainer(powerPoint, file))?.work ?? 0) / file.length;
      }),
    );
    assert.ok(
      works.every((work) => work > 0 && work < 10),
      String(works),
    );
  });

  describe("holds small zips for newer versions of PowerPoint", () => {
    const zips = (count: number): Buffer[] =>
      Array.from({ length: count }, (_, index) =>
        zip([deflated("theme.xml", Buffer.from(`theme ${index} `.repeat(20)))]),
      );
    const holder = (type: number, content: Buffer): Buffer =>
      Buffer.concat([u16(0xf), u16(type), u32(content.length), content]);
    const inRecords = (archives: readonly Buffer[]): Buffer => {
      const records = [record(0, 0xfba, Buffer.from("text")), ...archives.map((one) => record(0, 0x40e, one))];
      return Buffer.concat([document, holder(0x3f8, holder(0x1388, Buffer.concat(records)))]);
    };

    test("each comes out once, as it is, however many there are", async () => {
      for (const count of [40, 300, 2000]) {
        const archives = zips(count);
        const stream = inRecords(archives);
        const opened = await openContainer(powerPoint, stream);
        assert.equal(opened?.outcome, "opened");
        assert.ok(opened.place.sure);
        assert.equal(opened.members.length, count);
        assert.ok(opened.members.every(({ content }, index) => content.equals(archives[index] as Buffer)));
        assert.ok(opened.work < 20 * stream.length, String(opened.work / stream.length));
        // Nobody else looks for them, but for the one that a program may find from the end.
        const others = containersIn(memoryBlob(stream)).filter(({ opener }) => opener !== powerPoint);
        assert.deepEqual(
          others.map(({ opener, place }) => [opener.kind, place]),
          [
            [
              "zip",
              { start: stream.lastIndexOf("PK\x03\x04", stream.length, "latin1"), end: stream.length, sure: false },
            ],
          ],
        );
      }
    });

    test("also in a record that is marked as one that holds others, and behind other bytes", async () => {
      const [first, second] = zips(2) as [Buffer, Buffer];
      const stream = Buffer.concat([
        document,
        record(0, 0x3f8, Buffer.alloc(3)),
        holder(0x428, first),
        record(0, 0x138b, Buffer.concat([Buffer.from("tag"), second])),
        Buffer.alloc(100),
      ]);
      const opened = await openContainer(powerPoint, stream);
      assert.deepEqual(
        opened?.members.map(({ content }) => [first, second].findIndex((one) => one.equals(content))),
        [0, 1],
      );
    });

    test("what only happens to look like records is none", () => {
      const other = Buffer.concat([u16(0x0dcb), u16(0x0a0d), u32(0), record(0, 0x6a1, Buffer.alloc(60, 1))]);
      assert.ok(powerPoint.find(memoryBlob(other)).every(({ sure }) => !sure));
    });

    test("records that lie about their length are searched as they are", async () => {
      const stream = inRecords(zips(3));
      stream.writeUInt32LE(0x7fffffff, document.length + 4);
      const found = containersIn(memoryBlob(stream));
      assert.ok(found.some(({ opener, place }) => opener.kind === "zip" && place.sure));
    });
  });

  test("an object that swells beyond measure is too large", async () => {
    const bomb = record(1, 0x1011, Buffer.concat([u32(9), deflateSync(Buffer.alloc(100_000))]));
    assert.equal((await openContainer(powerPoint, bomb, { memberInMemoryBytes: 50_000 }))?.outcome, "too-large");
  });
});

describe("a package in a document", () => {
  const file = randomBytes(2000);
  const names = Buffer.from("invoice.exe\0C:\\invoice.exe\0", "latin1");
  const temporary = Buffer.from("C:\\temp\\invoice.exe\0", "latin1");
  const parts = [u16(2), names, u16(0), u16(3), u32(temporary.length), temporary, u32(file.length), file];
  const inner = Buffer.concat(parts);
  const stream = Buffer.concat([u32(inner.length), inner]);

  test("the file comes out, byte for byte, with its name", async () => {
    for (const content of [stream, inner, Buffer.concat([stream, Buffer.from("names in UTF-16")])]) {
      const opened = await openContainer(oleNative, content);
      assert.deepEqual(
        opened?.members.map(({ name }) => name),
        ["invoice.exe"],
      );
      assert.ok(opened?.members[0]?.content.equals(file));
      assert.deepEqual(opened?.rest, []);
    }
  });

  test("what stands behind it is left over, and a size too large is as much as there is", async () => {
    const opened = await openContainer(oleNative, Buffer.concat([stream, randomBytes(5000)]));
    assert.deepEqual(opened?.rest, [{ start: stream.length, end: stream.length + 5000 }]);
    const cut = await openContainer(oleNative, stream.subarray(0, -500));
    assert.ok(cut?.members[0]?.content.equals(file.subarray(0, 1500)));
  });

  test("data without names comes out too, and other contents are none", async () => {
    const opened = await openContainer(oleNative, Buffer.concat([u32(file.length), file]));
    assert.ok(opened?.members[0]?.content.equals(file));
    for (const other of ["", "text", "a text that is longer than the others", "\x10\0\0\0\x02\0aaaaaaaaaaaaaaaaaaaa"]) {
      assert.deepEqual(oleNative.find(memoryBlob(Buffer.from(other, "latin1"))), [], other);
    }
  });
});
