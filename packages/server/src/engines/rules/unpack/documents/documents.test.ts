import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { type Blob, memoryBlob } from "../../look/blob.ts";
import { compound } from "../../samples/archives.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";
import { isMail, unpackMail } from "./mail-parts.ts";
import { isPdf, unpackPdf } from "./pdf-streams.ts";
import { unpackRtf } from "./rtf-objects.ts";

function partsOf(file: Uint8Array, unpack: (content: Blob, sink: MemberSink) => { kind: string }): Buffer[] {
  const parts: Buffer[] = [];
  let pieces: Buffer[] = [];
  const sink: MemberSink = {
    folder() {},
    begin() {
      pieces = [];
    },
    write: (bytes) => void pieces.push(Buffer.from(bytes)),
    end: () => void parts.push(Buffer.concat(pieces)),
  };
  assert.equal(unpack(memoryBlob(file), sink).kind, "unpacked");
  return parts;
}

describe("a mail", () => {
  const head = "From: a@example.com\r\nTo: b@example.com\r\nMIME-Version: 1.0\r\n";
  const part = (encoding: string, body: string): string =>
    `--x\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`;
  const attachment = randomBytes(3_000_001);

  test("its attachments come out, whatever their size", () => {
    const lines = attachment.toString("base64").replace(/.{76}/g, "$&\r\n");
    const mail = `${head}\r\n${part("base64", "aGVsbG8=")}${part("7bit", "text")}${part("Base64", lines)}--x--\r\n`;
    const [first, second, ...others] = partsOf(Buffer.from(mail), unpackMail);
    assert.equal(first?.toString(), "hello");
    assert.ok(second?.equals(attachment));
    assert.deepEqual(others, []);
  });

  test("quoted text comes out as it is meant", () => {
    const mail = `${head}\r\n${part("quoted-printable", "a=3Db and a long =\r\nline")}--x--\r\n`;
    assert.deepEqual(partsOf(Buffer.from(mail), unpackMail).map(String), ["a=b and a long line"]);
  });

  test("those of ClamAV hold its test file", () => {
    const program = readFileSync("/usr/share/clamav-testfiles/clam.exe");
    for (const name of ["clam.mail", "clam.exe.mbox.base64", "clam.exe.mbox.uu"]) {
      const file = readFileSync(`/usr/share/clamav-testfiles/${name}`);
      assert.ok(isMail(file), name);
      assert.ok(
        partsOf(file, unpackMail).some((content) => content.equals(program)),
        name,
      );
    }
  });

  test("is told from other texts", () => {
    const others = [
      "Name: value\nOther: value\n",
      "# Heading\n\nMessage-ID: what is it?\n",
      "",
      "From here on\nMIME-Version: 1.0",
    ];
    for (const text of others) assert.equal(isMail(Buffer.from(text)), false, text);
    assert.equal(isMail(Buffer.from(head)), true);
  });
});

describe("an RTF document", () => {
  test("its objects come out, and the compound file in one as well", () => {
    const inner = compound("Contents", Buffer.from("hello"));
    const object = Buffer.concat([Buffer.from("0105000002000000", "hex"), inner]);
    const hex = object.toString("hex").replace(/.{64}/g, "$&\r\n");
    const [whole, compoundFile] = partsOf(Buffer.from(`{\\rtf1 text {\\object{\\*\\objdata ${hex}}} more}`), unpackRtf);
    assert.ok(whole?.equals(object));
    assert.ok(compoundFile?.equals(inner));
  });

  test("what is strewn in between the digits does not matter", () => {
    const parts = partsOf(Buffer.from("{\\rtf1{\\object\\objdata 68{\\*\\foo}65\\par 6c\n6c 6f}}"), unpackRtf);
    assert.deepEqual(parts.map(String), ["hello"]);
  });
});

describe("a PDF", () => {
  const options = { streamBytes: 1_000_000, isContainer: (content: Blob) => content.bytes(0, 2).toString() === "PK" };
  const unpack = (content: Blob, sink: MemberSink): { kind: string } => unpackPdf(content, sink, options);
  const stream = (dictionary: string, content: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from(`1 0 obj\n<< ${dictionary} >>\nstream\n`),
      content,
      Buffer.from("\nendstream\nendobj\n"),
    ]);
  const flate = (content: string): Buffer => stream("/Filter /FlateDecode", deflateSync(content));
  const pdf = (...objects: Uint8Array[]): Buffer =>
    Buffer.concat([Buffer.from("%PDF-1.7\n"), ...objects, Buffer.from("%%EOF\n")]);

  test("its streams come out together, those that are archives by themselves", () => {
    const file = pdf(flate("one"), stream("", Buffer.from("plain")), flate("PK archive"), flate("two"));
    assert.ok(isPdf(file));
    assert.deepEqual(partsOf(file, unpack).map(String), ["PK archive", "one\ntwo\n"]);
  });

  test("pictures are left out, and a wrong checksum does not matter", () => {
    const picture = stream("/Subtype /Image /Filter /FlateDecode", deflateSync("pixels"));
    const wrong = stream(
      "/Filter /FlateDecode",
      Buffer.concat([deflateSync("a text").subarray(0, -4), Buffer.from("????")]),
    );
    const noise = stream("/Filter /FlateDecode", Buffer.from("not compressed"));
    assert.deepEqual(partsOf(pdf(picture, wrong, noise), unpack).map(String), ["a text\n\n"]);
  });

  test("an encrypted one is said to be so", () => {
    const file = pdf(flate("one"), Buffer.from("trailer << /Root 1 0 R /Encrypt 9 0 R >>\n"));
    const sink: MemberSink = { folder() {}, begin() {}, write() {}, end() {} };
    assert.deepEqual(unpackPdf(memoryBlob(file), sink, options), { kind: "encrypted" });
  });

  test("a stream that swells beyond all measure is said to be so", () => {
    const file = pdf(stream("/Filter /FlateDecode", deflateSync(Buffer.alloc(5_000_000))));
    const sink: MemberSink = { folder() {}, begin() {}, write() {}, end() {} };
    assert.deepEqual(unpackPdf(memoryBlob(file), sink, options), { kind: "too-large" });
  });
});
