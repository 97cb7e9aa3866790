import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { tnef } from "./tnef.ts";

const u16 = (value: number): Buffer => Buffer.of(value & 0xff, (value >> 8) & 0xff);
const u32 = (value: number): Buffer => Buffer.concat([u16(value), u16(value >>> 16)]);
const attribute = (id: number, value: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(2), u32(id), u32(value.length), value, u16(value.reduce((sum, byte) => sum + byte, 0))]);
const message = (...attributes: Buffer[]): Buffer => Buffer.concat([u32(0x223e9f78), u16(1), ...attributes]);
const padded = (value: Uint8Array): Buffer =>
  Buffer.concat([u32(value.length), value, Buffer.alloc(-value.length & 3)]);

describe("winmail.dat", () => {
  const file = randomBytes(3001);

  test("its attachments come out, byte for byte, with their names", async () => {
    const dat = message(
      attribute(0x00069002, Buffer.alloc(14)),
      attribute(0x00018010, Buffer.from("invoice.exe\0")),
      attribute(0x0006800f, file),
    );
    const opened = await openContainer(tnef, Buffer.concat([dat, Buffer.from("behind it")]));
    assert.equal(opened?.place.sure, true);
    assert.equal(opened?.outcome, "opened");
    assert.deepEqual(
      opened?.members.map(({ name }) => name),
      ["invoice.exe"],
    );
    assert.ok(opened?.members[0]?.content.equals(file));
    assert.deepEqual(opened?.rest, [{ start: dat.length, end: dat.length + 9 }]);
  });

  test("attachments among the properties come out: as bytes, and as an object behind its kind", async () => {
    const named = Buffer.concat([u16(3), u16(0x8001), Buffer.alloc(16), u32(1), padded(Buffer.from("name")), u32(7)]);
    const several = Buffer.concat([u16(0x1003), u16(0x6000), u32(2), u32(1), u32(2)]);
    const bytes = Buffer.concat([u16(0x102), u16(0x3701), u32(1), padded(file)]);
    const kind = randomBytes(16);
    const object = Buffer.concat([u16(0x0d), u16(0x3701), u32(1), padded(Buffer.concat([kind, file]))]);
    const list = Buffer.concat([u32(4), named, several, bytes, object]);
    const opened = await openContainer(tnef, message(attribute(0x00069005, list)));
    assert.equal(opened?.members.length, 2);
    assert.ok(opened?.members.every(({ content }) => content.equals(file)));
  });

  test("the compressed text of a mail comes out", async () => {
    const text = "{\\rtf1\\ansi text of the mail, long enough to be of interest, and a bit longer than that}";
    // Flags for eight letters, eight letters. The first of all is a reference to what every such text begins with.
    const groups = Array.from({ length: Math.ceil(text.length / 8) }, (_, index) =>
      Buffer.concat([Buffer.of(0), Buffer.from(text.slice(index * 8, index * 8 + 8))]),
    );
    const first = Buffer.from([0x01, 0x00, 0x09, ...Buffer.from("1234567")]);
    const packed = Buffer.concat([Buffer.alloc(8), Buffer.from("LZFu"), Buffer.alloc(4), first, ...groups]);
    const list = Buffer.concat([u32(1), u16(0x102), u16(0x1009), u32(1), padded(packed)]);
    const opened = await openContainer(tnef, message(attribute(0x00069003, list)));
    const [raw, body] = opened?.members ?? [];
    assert.ok(raw?.content.equals(packed));
    assert.equal(body?.content.toString(), `{\\rtf1\\ansi1234567${text}`);
  });

  test("properties that make no sense come out as they are", async () => {
    const list = Buffer.concat([u32(9), u16(0x77), u16(0x3701), file]);
    const opened = await openContainer(tnef, message(attribute(0x00069005, list)));
    assert.ok(opened?.members.some(({ content }) => content.includes(file)));
  });

  test("one that is cut is unreadable, and gives what there is", async () => {
    const dat = message(attribute(0x0006800f, file)).subarray(0, -1000);
    const opened = await openContainer(tnef, dat);
    assert.equal(opened?.outcome, "unreadable");
    assert.ok(opened?.members[0]?.content.equals(file.subarray(0, file.length - 1000 + 2)));
  });

  test("is known by its signature only, and its work is in proportion", async () => {
    assert.deepEqual(tnef.find(memoryBlob(Buffer.from("x"))), []);
    const works = await Promise.all(
      [1000, 10_000].map(async (count) => {
        const list = Buffer.concat([u32(0xffff_ffff), u16(0x101e), u16(1), u32(0xffff_ffff), Buffer.alloc(4 * count)]);
        const file = message(
          ...Array.from({ length: count }, () => attribute(1, Buffer.alloc(1))),
          attribute(0x00069005, list),
        );
        return ((await openContainer(tnef, file))?.work ?? 0) / file.length;
      }),
    );
    assert.ok(
      works.every((work) => work > 0 && work < 5),
      String(works),
    );
  });
});
