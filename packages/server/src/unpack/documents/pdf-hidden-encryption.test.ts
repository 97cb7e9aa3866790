import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { glue, latin1 } from "../../../test/fixtures/corpus/container.ts";
import { encryptedPdf } from "../../../test/fixtures/corpus/encrypted-pdfs.ts";
import { encryptor, type Handler, handlers } from "../../../test/fixtures/corpus/pdf-encryption.ts";
import { openPdf } from "../../../test/support/open-pdf.ts";
import { memoryBlob } from "../blob.ts";
import { pdf } from "./pdf.ts";

const SCRIPT = Buffer.from("app.alert('a script that somebody wrote');\r\n".repeat(4));
const RC4 = handlers["RC4 of 128 bits"] as Handler;
const document = encryptedPdf(SCRIPT, { handler: RC4, place: "attachment" }).toString("latin1");
const tableAt = document.indexOf("xref\n0 1");
const [body, table] = [document.slice(0, tableAt), document.slice(tableAt, document.indexOf("startxref"))];
const trailer = table.slice(table.indexOf("trailer"));

function found(file: string): string {
  const { members, outcome } = openPdf(latin1(file));
  return `${members.some(({ content }) => content.equals(SCRIPT)) ? "found" : "not found"}, ${outcome.kind}`;
}

describe("an encryption that readers find and that is easily missed", () => {
  test("in a table that does not say that it is one", () => {
    const file = encryptedPdf(SCRIPT, { handler: RC4, place: "attachment", table: "stream" }).toString("latin1");
    assert.equal(found(file.replace("/Type /XRef", "/Tipe /XRef")), "found, opened");
    const escaped = file.replace("/Type /XRef", "/Tipe /XRef").replace("/Encrypt", "/#45ncrypt");
    assert.equal(found(escaped), "found, opened");
  });

  test("in a trailer within a stream, where the table is no table to them", () => {
    const inside = `${body}20 0 obj\n<< /Length ${trailer.length} >>\nstream\n${trailer}\nendstream\nendobj\n`;
    for (const broken of ["xref\n0 zz\n", "xref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 12 >>\n"]) {
      assert.equal(found(`${inside}${broken}startxref\n${inside.length}\n%%EOF\n`), "found, opened");
    }
  });

  test("in a dictionary that follows no word, which is no encryption without one", () => {
    assert.equal(found(document.replace("trailer", "traimer")), "found, opened");
    const locked = encryptedPdf(SCRIPT, { handler: RC4, place: "attachment", user: "the user" }).toString("latin1");
    assert.equal(found(locked.replace("trailer", "")), "not found, encrypted");
    assert.equal(found(document.replace("trailer", "").replace("9 0 obj", "8 1 obj")), "not found, opened");
  });

  test("in one of very many trailers", () => {
    const others = "trailer\n<< /Size 1 >>\n".repeat(1200);
    const start = `startxref\n${body.length + others.length}\n%%EOF\n`;
    assert.equal(found(`${body}${others}${table}${others}${start}`), "found, opened");
  });

  test("in one of several objects with its number", () => {
    const file = encryptedPdf(SCRIPT, { handler: RC4, place: "attachment", user: "the user" }).toString("latin1");
    // Nothing in it tells whether it has been decrypted rightly.
    const bare = file.replaceAll("/Filter /FlateDecode", "");
    const decoy = `9 0 obj\n${encryptor(RC4, { user: "", owner: "somebody" }).dictionary}\nendobj\n`;
    for (const times of [1, 3, 9]) {
      for (const [front, back] of [
        [decoy.repeat(times), ""],
        [decoy.repeat(times), decoy],
      ] as const) {
        const revised = bare.replace("1 0 obj", `${front}1 0 obj`).replace("xref\n0 1", `${back}xref\n0 1`);
        assert.equal(found(revised), "not found, encrypted");
      }
    }
  });

  test("by AES with a key that is shorter than a key of AES", () => {
    for (const size of [5, 8]) {
      const handler: Handler = { version: 4, revision: 4, size, method: "AESV2" };
      for (const shape of [{}, { dictionary: "", pack: (content: Buffer) => content }]) {
        const file = encryptedPdf(SCRIPT, { handler, place: "attachment", ...shape });
        assert.equal(found(file.toString("latin1")), "found, opened");
      }
    }
  });
});

describe("a PDF without its mark in the first kilobyte", () => {
  const places = (file: Uint8Array) => pdf.find(memoryBlob(file));
  test("is tried, since readers look for its objects", () => {
    const noise = Buffer.alloc(100_000, 0xee);
    for (const file of [latin1(document.replace("%PDF-", "%QQQ-")), glue(noise, document)]) {
      assert.deepEqual(places(file), [{ start: 0, end: file.length, sure: false }]);
    }
  });

  test("is not seen in texts and programs that speak of PDF", () => {
    for (const text of ["%PDF- and obj", "write('%PDF-1.3'); write(n + ' 0 obj')", "the first object"]) {
      assert.deepEqual(places(latin1(`${" ".repeat(2000)}${text}`)), []);
    }
  });
});
