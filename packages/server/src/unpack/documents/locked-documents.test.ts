import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { compoundFile } from "../../../test/fixtures/compound-writer.ts";
import { glue, u16, u32 } from "../../../test/fixtures/corpus/container.ts";
import {
  encryptedBy95,
  encryptedBy97,
  encryptedBy2003,
  encryptedBy2007,
  encryptedBy2010,
  workbookStream,
} from "../../../test/fixtures/office-writer.ts";
import { deflated, zip } from "../../../test/fixtures/zip-writer.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { containersIn } from "../openers.ts";
import { mayHoldMembers } from "../sieve.ts";
import { lockedDocuments } from "./locked-documents.ts";
import { ole } from "./ole.ts";
import { workbook } from "./workbook.ts";

/** The password that Excel takes for workbooks which are only protected against changes. */
const KNOWN = "VelvetSweatshop";
const payload = randomBytes(20_000);

async function isLocked(content: Buffer): Promise<boolean> {
  const outcomes = await Promise.all(lockedDocuments.map((opener) => openContainer(opener, content)));
  const found = outcomes.filter((one) => one !== undefined);
  assert.ok(found.every(({ outcome, place }) => outcome === "encrypted" && place.sure));
  // Files of their own are looked at as well as streams.
  if (found.length > 0) assert.ok(mayHoldMembers(memoryBlob(content)));
  return found.length > 0;
}

describe("a document with a password", () => {
  test("of any Word is known by its flag", async () => {
    const versions = [
      [0xa5ec, 0xc1],
      [0xa5ec, 0x10c],
      [0xa5dc, 0x65],
      [0xa5dc, 0x68],
      [0xa5db, 0x2d],
      [0xa59b, 0x21],
      [0xa698, 0x65],
    ] as const;
    for (const [mark, version] of versions) {
      const document = (flags: number): Buffer =>
        glue(u16(mark), u16(version), Buffer.alloc(6), u16(flags), Buffer.alloc(500));
      assert.ok(await isLocked(document(0x0100)), `${mark}`);
      assert.ok(await isLocked(document(0x8300)), `${mark}`);
      assert.ok(!(await isLocked(document(0x1200))), `${mark}`);
    }
  });

  test("of PowerPoint is known by its mark", async () => {
    const user = (mark: number): Buffer => glue(u16(0), u16(0x0ff6), u32(40), u32(0x14), u32(mark), Buffer.alloc(40));
    assert.ok(await isLocked(user(0xf3d1c4df)));
    assert.ok(!(await isLocked(user(0xe391c05f))));
  });

  test("of Hangul Word Processor and StarOffice is known by its header", async () => {
    const hwp = (flags: number): Buffer =>
      glue("HWP Document File", Buffer.alloc(15), u32(0x05000300), u32(flags), Buffer.alloc(216));
    const old = (flag: number): Buffer =>
      glue(
        "HWP Document File V3.00 \x1a\x01\x02\x03\x04\x05",
        Buffer.alloc(6, 0xff),
        Buffer.alloc(90),
        u16(flag),
        Buffer.alloc(99),
      );
    const about = (flag: number): Buffer =>
      glue(u16(15), "SfxDocumentInfo", u16(11), Buffer.of(flag), Buffer.alloc(60));
    const text = (flags: number): Buffer => glue("SW5HDR\0", Buffer.of(46), u16(0x217), u16(flags), Buffer.alloc(60));
    for (const [locked, open] of [
      [hwp(0x03), hwp(0x01)],
      [hwp(0x10), hwp(0)],
      [old(1), old(0)],
      [about(1), about(0)],
      [text(0x8), text(0x100)],
    ] as const) {
      assert.ok(await isLocked(locked));
      assert.ok(!(await isLocked(open)));
    }
  });

  test("other contents are none", async () => {
    for (const content of [Buffer.alloc(0), Buffer.alloc(300), Buffer.alloc(300, 0xff), randomBytes(300)])
      assert.ok(!(await isLocked(content)));
  });
});

describe("a workbook", () => {
  test("with a password cannot be looked at, however it is encrypted", async () => {
    for (const encryption of [
      encryptedBy97("secret"),
      encryptedBy2003("secret"),
      { ...encryptedBy95, filePass: glue(u16(0), u16(0xb359), u16(0x9a0b)) },
      // Excel 2 to 5 say only this much.
      { ...encryptedBy95, filePass: glue(u16(0x1234), u16(0x5678)) },
      { ...encryptedBy95, filePass: glue(u16(1), u16(9), u16(9)) },
      { ...encryptedBy95, filePass: Buffer.alloc(0) },
    ]) {
      const stream = workbookStream(payload, encryption);
      assert.equal((await openContainer(workbook, stream))?.outcome, "encrypted");
      assert.ok(mayHoldMembers(memoryBlob(stream)));
    }
  });

  test("that opens without a question is decrypted, and a workbook again", async () => {
    for (const encryption of [encryptedBy97(KNOWN), encryptedBy2003(KNOWN), encryptedBy95]) {
      const opened = await openContainer(workbook, workbookStream(payload, encryption));
      assert.equal(opened?.outcome, "opened");
      const [decrypted] = opened?.members ?? [];
      const again = await openContainer(workbook, decrypted?.content ?? Buffer.alloc(0));
      assert.equal(again?.outcome, "opened");
      assert.ok(again?.members.some(({ content }) => content.equals(payload)));
    }
  });

  test("is encrypted behind records of nothing, too, and in sheets that stand behind something else", async () => {
    const records = (password: string): Buffer => {
      const encryption = encryptedBy97(password);
      const written: Buffer[] = [];
      const add = (type: number, data: Buffer, open = data.length): void => {
        const position = Buffer.concat(written).length + 4;
        const secret = encryption.encrypt(data, position).subarray(open);
        written.push(glue(u16(type), u16(data.length), data.subarray(0, open), secret));
      };
      const start = (part: number): Buffer => glue(u16(0x600), u16(part), Buffer.alloc(12));
      add(0x809, start(5));
      add(0, Buffer.alloc(0));
      add(0x2f, encryption.filePass);
      const sheet = Buffer.concat(written).length + 4 + 8 + 4 + 7;
      add(0x85, glue(u32(sheet), Buffer.alloc(4)), 4);
      add(0x0a, Buffer.alloc(0));
      written.push(Buffer.of(0xff, 0x77, 0xff, 0xff, 1, 2, 3));
      add(0x809, start(0x10));
      add(0xeb, payload.subarray(0, 2000), 0);
      return Buffer.concat(written);
    };
    const opened = await openContainer(workbook, records(KNOWN));
    assert.equal(opened?.outcome, "opened");
    assert.ok(opened?.members.some(({ content }) => content.includes(payload.subarray(0, 2000))));
    assert.equal((await openContainer(workbook, records("secret")))?.outcome, "encrypted");
  });

  test("records that go on in others come out in one piece, and short ones with a zip in them", async () => {
    const [long] = (await openContainer(workbook, workbookStream(payload)))?.members ?? [];
    assert.ok(long?.content.equals(payload));
    const archive = zip([deflated("a.txt", Buffer.from("theme"))]);
    const [short, ...others] = (await openContainer(workbook, workbookStream(archive)))?.members ?? [];
    assert.ok(short?.content.equals(archive));
    assert.deepEqual(others, []);
    assert.deepEqual((await openContainer(workbook, workbookStream(Buffer.from("text"))))?.members, []);
  });

  test("a zip that its records cut apart is none in the raw bytes", async () => {
    const large = zip([deflated("a.bin", payload)]);
    const found = containersIn(memoryBlob(glue(workbookStream(large), Buffer.alloc(100))));
    assert.ok(found.some(({ opener, place }) => opener.kind === "workbook" && place.sure));
    assert.ok(found.every(({ opener, place }) => opener.kind !== "zip" || !place.sure));
    // With something else behind the records it is a guess, and the zip is one.
    const both = containersIn(memoryBlob(glue(workbookStream(Buffer.alloc(9)), large)));
    assert.ok(both.some(({ opener, place }) => opener.kind === "zip" && place.sure));
  });

  test("lengths that lie and records of nothing come to an end", async () => {
    const stream = workbookStream(payload, encryptedBy97(KNOWN));
    for (let cut = 1; cut < 300; cut += 7) {
      assert.ok(await openContainer(workbook, stream.subarray(0, stream.length - cut * 70 > 8 ? -cut * 70 : 8)));
    }
    const many = glue(workbookStream(Buffer.alloc(0)), Buffer.alloc(200_000, Buffer.from("4200000042000000", "hex")));
    const opened = await openContainer(workbook, many);
    assert.equal(opened?.outcome, "opened");
    assert.ok((opened?.work ?? 0) <= 4 * many.length);
  });
});

describe("an encrypted package", () => {
  const archive = zip([deflated("word/document.xml", payload)]);
  const file = (
    { info, content }: { info: Buffer; content: Buffer },
    [infoName, packageName] = ["EncryptionInfo", "EncryptedPackage"],
  ): Buffer =>
    compoundFile([
      { name: infoName, content: info },
      { name: packageName, content },
    ]);

  test("that opens without a question is decrypted", async () => {
    for (const encrypted of [encryptedBy2007(archive, KNOWN), encryptedBy2010(archive, KNOWN)]) {
      const opened = await openContainer(ole, file(encrypted));
      assert.equal(opened?.outcome, "opened");
      assert.ok(opened?.members.find(({ name }) => name === "decrypted")?.content.equals(archive));
    }
  });

  test("is decrypted whatever its size is said to be, and whatever letters are large in its names", async () => {
    const { info, content } = encryptedBy2007(archive, KNOWN);
    const decrypted = async (...names: [string, string]): Promise<string | undefined> => {
      const opened = await openContainer(
        ole,
        file({ info, content: glue(Buffer.alloc(8), content.subarray(8)) }, names),
      );
      const plain = opened?.members.filter(({ name }) => name === "decrypted") ?? [];
      return plain.some((one) => one.content.includes(archive)) ? opened?.outcome : "not found";
    };
    assert.equal(await decrypted("EncryptionInfo", "EncryptedPackage"), "opened");
    assert.equal(await decrypted("encryptioninfo", "ENCRYPTEDPACKAGE"), "opened");
    const locked = encryptedBy2007(archive, "secret");
    assert.equal(
      (await openContainer(ole, file(locked, ["EncryptionInfo", "encryptedPackage"])))?.outcome,
      "encrypted",
    );
  });

  test("with several descriptions is opened by all of them, or not at all", async () => {
    const [known, locked] = [encryptedBy2010(archive, KNOWN, 10), encryptedBy2010(archive, "secret", 10)];
    for (const second of [locked.info, encryptedBy2007(archive, KNOWN).info]) {
      const streams = [
        { name: "A/EncryptionInfo", content: known.info },
        { name: "EncryptionInfo", content: second },
        { name: "EncryptedPackage", content: known.content },
      ];
      assert.equal((await openContainer(ole, compoundFile(streams)))?.outcome, "encrypted");
    }
  });

  test("with a password, more turns than Office makes or malformed numbers cannot be looked at", async () => {
    const good = encryptedBy2010(archive, KNOWN, 10);
    assert.equal((await openContainer(ole, file(good)))?.outcome, "opened");
    const other = (from: string, to: string): Buffer =>
      Buffer.from(good.info.toString("latin1").replaceAll(from, to), "latin1");
    for (const info of [
      encryptedBy2010(archive, "secret", 10).info,
      encryptedBy2007(archive, "secret").info,
      other('spinCount="10"', 'spinCount="100001"'),
      other('spinCount="10"', 'spinCount="1e999"'),
      other('keyBits="256"', 'keyBits="77"'),
      other("SHA512", "SHA-1000"),
      Buffer.from(good.info.toString("latin1").replace('keyBits="256"', 'keyBits="88"'), "latin1"),
      other("ChainingModeCBC", "ChainingModeCFB"),
      other("encryptedKey ", "nothing "),
      good.info.subarray(0, 9),
      Buffer.alloc(0),
      glue(u16(4), u16(2), u32(0x24), u32(0xffffffff), randomBytes(100)),
      glue(u16(3), u16(3), Buffer.alloc(100)),
    ])
      assert.equal((await openContainer(ole, file({ ...good, info })))?.outcome, "encrypted", info.toString("latin1"));
    assert.equal(
      (await openContainer(ole, compoundFile([{ name: "\x09DRMContent", content: payload }])))?.outcome,
      "encrypted",
    );
    assert.equal(
      (await openContainer(ole, compoundFile([{ name: "EncryptedPackage", content: payload }])))?.outcome,
      "encrypted",
    );
  });
});

test("the deflated streams of Hangul Word Processor come out inflated", async () => {
  const header = (flags: number): Buffer =>
    glue("HWP Document File", Buffer.alloc(15), u32(0x05000300), u32(flags), Buffer.alloc(216));
  const file = (flags: number): Buffer =>
    compoundFile([
      { name: "FileHeader", content: header(flags) },
      { name: "BodyText/Section0", content: deflateRawSync(Buffer.from("text")) },
      { name: "BinData/BIN0001.exe", content: deflateRawSync(payload) },
    ]);
  assert.ok((await openContainer(ole, file(1)))?.members.some(({ content }) => content.equals(payload)));
  assert.ok((await openContainer(ole, file(0)))?.members.every(({ content }) => !content.equals(payload)));
});
