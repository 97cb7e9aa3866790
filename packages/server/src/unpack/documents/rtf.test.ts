import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { rtf } from "./rtf.ts";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
const content = randomBytes(300);
const digits = content.toString("hex");

async function membersOf(document: string): Promise<Buffer[]> {
  const opened = await openContainer(rtf, latin1(document));
  assert.equal(opened?.outcome, "opened");
  assert.deepEqual(opened?.rest, []);
  return opened?.members.map((member) => member.content) ?? [];
}

async function assertHolds(document: string, expected: Buffer = content): Promise<void> {
  const members = await membersOf(document);
  assert.ok(
    members.some((member) => member.equals(expected)),
    `not among ${members.length}: ${document.slice(0, 200)}`,
  );
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** An object as OLE 1 has it. */
function object(name: string, native: Buffer): Buffer {
  const string = (text: string): Buffer => Buffer.concat([number(text.length + 1), latin1(`${text}\0`)]);
  return Buffer.concat([
    number(0x501),
    number(2),
    string(name),
    number(0),
    number(0),
    number(native.length),
    native,
    Buffer.alloc(9),
  ]);
}

describe("the data of an RTF document", () => {
  test("come out once", async () => {
    assert.deepEqual(await membersOf(`{\\rtf1 text {\\object{\\*\\objdata ${digits}}} more}`), [content]);
  });

  const disguises: Readonly<Record<string, string>> = {
    "in capitals, on lines": `{\\object\\objdata\r\n${digits.toUpperCase().replaceAll(/.{64}/g, "$&\r\n")}}`,
    "in a field": `{\\*\\datafield ${digits}}`,
    "in a picture": `{\\pict\\pngblip\\picw10 ${digits}}`,
    "as they are": `{\\pict\\wmetafile8\\bin${content.length} ${content.toString("latin1")}}`,
    "with groups and words in between": `{\\objdata ${digits.slice(0, 100)}{\\*\\foo}\\par ${digits.slice(100, 201)} {\\b\\i0 ${digits.slice(201)}}}`,
    "with groups that may be ignored": `{\\objdata ${digits.slice(0, 100)}{\\*\\foo 4142}${digits.slice(100)}}`,
    "in groups that may be ignored": `{\\objdata ${digits.slice(0, 100)}{\\*\\foo ${digits.slice(100)}}}`,
    "with escapes that mean nothing": `{\\objdata ${digits.slice(0, 100)}\\'41${digits.slice(100)}}`,
    "with escapes that take half a byte away": `{\\objdata ${digits.slice(0, 100)}7\\'41${digits.slice(100)}}`,
    "within other data": `{\\objdata 4142{\\objdata ${digits}}}`,
    "of a group that is not closed": `{\\objdata ${digits}`,
  };
  for (const [name, written] of Object.entries(disguises)) {
    test(`come out when written ${name}`, () => assertHolds(`{\\rtf1 ${written}}`));
  }

  test("come out of a document that begins with blanks or is called {\\rt only", async () => {
    await assertHolds(` \r\n{\\rt1{\\objdata ${digits}}}`);
    await assertHolds(`junk{\\rtx{\\objdata ${digits}}}`);
  });
});

describe("an object in an RTF document", () => {
  test("gives what it holds, and the file of a package", async () => {
    const file = randomBytes(200);
    const native = Buffer.concat([
      latin1("\x02\0label.exe\0C:\\label.exe\0\0\0\x03\0"),
      number(8),
      latin1("C:\\a.ex\0"),
      number(file.length),
      file,
    ]);
    const document = `{\\rtf1{\\objdata ${object("Package", native).toString("hex")}}}`;
    await assertHolds(document, native);
    await assertHolds(document, file);
  });

  test("gives the compound file and the zip in it from where they begin", async () => {
    for (const magic of ["d0cf11e0a1b11ae1", "504b0304"]) {
      const inner = Buffer.concat([Buffer.from(magic, "hex"), randomBytes(100)]);
      const before = Buffer.concat([randomBytes(50).map((byte) => byte | 1), inner]);
      await assertHolds(`{\\rtf1{\\objdata ${before.toString("hex")}}}`, inner);
    }
  });
});

describe("an RTF document", () => {
  test("is told from other texts", () => {
    for (const text of ["", "{rtf", "hello {\\b}", `${" ".repeat(2000)}{\\rtf1}`])
      assert.deepEqual(rtf.find(memoryBlob(latin1(text))), []);
  });

  test("whatever is repeated in it is passed over a bounded number of times", async () => {
    const words = [
      "{",
      "}",
      "{\\*\\objdata ",
      "\\objdata 4141",
      "\\bin1 x",
      "\\bin99999999 ",
      "\\'41",
      "{\\*\\x 41",
      "\\pict{",
      "d0cf11e0a1b11ae1",
      "41",
      "\\",
    ];
    const mixtures = words.map((word, index) => [
      word,
      words[(index * 5 + 2) % words.length],
      words[(index * 7 + 3) % words.length],
    ]);
    for (const mixture of [...words.map((word) => [word]), ...mixtures]) {
      const text = latin1(`{\\rtf1 ${mixture.join("").repeat(Math.ceil(300_000 / mixture.join("").length))}`);
      const opened = await openContainer(rtf, text, { members: 1_000_000 });
      const bytes = opened?.members.reduce((sum, member) => sum + member.content.length, 0) ?? 0;
      assert.ok((opened?.work ?? 0) <= 24 * text.length, `${mixture}: work ${opened?.work}`);
      assert.ok(bytes <= 6 * text.length, `${mixture}: ${bytes} bytes`);
    }
  });
});
