import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { deflated, stored, zip } from "../../../../test/support/zip-writer.ts";
import { memoryBlob } from "../look/blob.ts";
import { ar, arj, cab, compound, cpio, iso, packedBy7z, rpm } from "../samples/archives.ts";
import { archiveKinds, KINDS_AT_MOST } from "./archive-kinds.ts";

const content = Buffer.from("a file\n");
const member = deflated("a", content);

/** As `type@start-end`, with a question mark where it is only a try. */
function kindsOf(bytes: Uint8Array): string[] {
  return archiveKinds(memoryBlob(bytes)).map(
    ({ type, start, end, sure }) =>
      `${type ?? "unknown"}@${start}-${end === bytes.length ? "end" : end}${sure ? "" : "?"}`,
  );
}

describe("archives are told by what they begin with", () => {
  const files: [type: string, bytes: () => Uint8Array][] = [
    ["7z", () => packedBy7z(content, "7z")],
    ["gzip", () => gzipSync(content)],
    ["bzip2", () => packedBy7z(content, "bz2")],
    ["bzip2", () => packedBy7z(Buffer.alloc(0), "bz2")],
    ["xz", () => packedBy7z(content, "xz")],
    ["tar", () => packedBy7z(content, "tar")],
    ["wim", () => packedBy7z(content, "wim")],
    ["Cab", () => cab(content)],
    ["Arj", () => arj(content)],
    ["Iso", () => iso(content)],
    ["Cpio", () => cpio(content)],
    ["Ar", () => ar(content)],
    ["Rpm", () => rpm(content)],
    ["Compound", () => compound("a", content)],
  ];
  for (const [type, bytes] of files) test(type, () => assert.deepEqual(kindsOf(bytes()), [`${type}@0-end`]));

  test("documents that have parts", () => {
    assert.deepEqual(kindsOf(Buffer.from("%PDF-1.7\n%%EOF\n")), ["pdf@0-end"]);
    assert.deepEqual(kindsOf(Buffer.from("{\\rtf1 text}")), ["rtf@0-end"]);
    assert.deepEqual(kindsOf(Buffer.from("From: a\nMIME-Version: 1.0\n\ntext")), ["mail@0-end"]);
  });

  test("a tar without a magic number, by its checksum", () => {
    const tar = packedBy7z(content, "tar");
    const sum = Number.parseInt(tar.toString("latin1", 148, 154), 8);
    const magic = tar.subarray(257, 265).reduce((total, byte) => total + byte, 0);
    tar.fill(0, 257, 265);
    tar.write((sum - magic).toString(8).padStart(6, "0"), 148, "latin1");
    assert.deepEqual(kindsOf(tar), ["tar@0-end"]);
  });
});

describe("zips are told by what they end with", () => {
  const one = zip([member]);
  test("an ordinary one", () => assert.deepEqual(kindsOf(one), ["zip@0-end"]));
  test("one without members", () => assert.deepEqual(kindsOf(zip([])), ["zip@0-end"]));
  test("one for large files", () => assert.deepEqual(kindsOf(zip([member], { zip64End: true })), ["zip@0-end"]));
  test("one with a comment", () => assert.deepEqual(kindsOf(zip([member], { comment: content })), ["zip@0-end"]));
  test("one behind something else, whether or not its offsets count that", () => {
    for (const prefixCounted of [true, false]) {
      assert.deepEqual(kindsOf(zip([member], { prefix: Buffer.alloc(300), prefixCounted })), ["zip@300-end"]);
    }
  });
  test("one with something behind it", () => {
    assert.deepEqual(kindsOf(Buffer.concat([one, Buffer.alloc(500)])), [`zip@0-${one.length}`]);
  });
  test("one behind another", () => {
    assert.deepEqual(kindsOf(Buffer.concat([one, one])), [`zip@${one.length}-end`, `zip@0-${one.length}`]);
  });
  test("one that is stored at the end of a tar is there beside the tar", () => {
    const tar = packedBy7z(one, "tar");
    assert.deepEqual(kindsOf(tar), ["tar@0-end", `zip@512-${512 + one.length}`]);
  });
  test("one that has lost its end", () => assert.deepEqual(kindsOf(one.subarray(0, -10)), ["cut zip@0-end"]));
  test("one in one counts once", () => assert.deepEqual(kindsOf(zip([stored("a.zip", one)])), ["zip@0-end"]));
  test("very many, of which no more are listed than it takes to say so", () => {
    assert.equal(kindsOf(Buffer.concat(Array(100).fill(one))).length, KINDS_AT_MOST + 1);
  });
});

describe("archives inside a program are a try", () => {
  const program = readFileSync(process.execPath).subarray(0, 50_000);
  test("a 7z", () => {
    assert.deepEqual(kindsOf(Buffer.concat([program, packedBy7z(content, "7z")])), ["7z@50000-end?"]);
  });
  test("a cab", () => assert.deepEqual(kindsOf(Buffer.concat([program, cab(content)])), ["Cab@50000-end?"]));
  test("the signature alone is none", () => {
    assert.deepEqual(kindsOf(Buffer.concat([program, Buffer.from("7z\xbc\xaf\x27\x1c....", "latin1"), program])), []);
  });
});

describe("what is no archive", () => {
  const files: [name: string, bytes: () => Uint8Array][] = [
    ["nothing at all", () => Buffer.alloc(0)],
    ["zeros", () => Buffer.alloc(100_000)],
    ["a text", () => Buffer.from("PK is what zip files begin with.\n".repeat(100))],
    ["a text that ends with the end of a zip", () => Buffer.from(`text\nPK\x05\x06${"\0".repeat(18)}`)],
    ["a list of numbers that begins like cpio", () => Buffer.from("070707,12\n070701,13\n")],
    ["a program for Linux", () => readFileSync(process.execPath).subarray(0, 200_000)],
    ["a program for Windows", () => readFileSync("/usr/share/clamav-testfiles/clam.exe")],
  ];
  for (const [name, bytes] of files) test(name, () => assert.deepEqual(kindsOf(bytes()), []));
});
