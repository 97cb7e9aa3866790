import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { ar, arj, cab, compound, cpio, iso, packedBy7z, rpm } from "../../test/fixtures/archives.ts";
import { containersOfAllKinds } from "../../test/fixtures/corpus/corpus.ts";
import { stored, zip } from "../../test/fixtures/zip-writer.ts";
import { memoryBlob } from "./blob.ts";
import { containersIn, OPENERS } from "./openers.ts";
import { mayHoldMembers } from "./sieve.ts";
import { mayBe } from "./signature-search.ts";

const content = Buffer.from("a payload of some length, and a little more of it\n".repeat(10));

/** Noise in which no signature stands by chance. */
function noise(bytes: number): Buffer {
  return Buffer.from(randomBytes(bytes).map((byte) => byte | 0x80));
}

function lzhOf(bytes: Buffer): Buffer {
  const lzh = containersOfAllKinds.find(({ extension, name }) => extension === ".lzh" && name.includes("level 1"));
  return lzh?.wrap(bytes, "a.lzh") ?? Buffer.alloc(0);
}

/** Text in which no twenty characters follow each other. */
function inPieces(text: string): Buffer {
  return Buffer.from(text.replace(/[^\x80-\xff\f]{19}/g, "$&\x80"), "latin1");
}

describe("what may hold members", () => {
  const files: Record<string, () => Uint8Array> = {
    "a text": () => content,
    "a text in UTF-16": () => Buffer.from(content.toString(), "utf16le"),
    "a text behind noise": () => Buffer.concat([noise(50_000), content]),
    "a zip": () => zip([stored("a", noise(100))]),
    "a zip behind noise": () => Buffer.concat([noise(5000), zip([stored("a", noise(100))])]),
    "a 7z behind noise": () => Buffer.concat([noise(5000), packedBy7z(content, "7z")]),
    gzip: () => gzipSync(content),
    zlib: () => deflateSync(content),
    zstd: () => zstdCompressSync(content),
    brotli: () => brotliCompressSync(content),
    bzip2: () => packedBy7z(content, "bz2"),
    xz: () => packedBy7z(content, "xz"),
    ar: () => ar(content),
    arj: () => arj(content),
    cab: () => cab(content),
    cpio: () => cpio(content),
    iso: () => iso(content),
    rpm: () => rpm(content),
    "an OLE document": () => compound("a", content),
    "an RTF in pieces": () => inPieces(`{\\rtf1\x80{\\object\x80{\\*\\objdata\x80${content.toString("hex")}}}}`),
    "a PDF in pieces, without its mark": () =>
      Buffer.concat([inPieces("1 0 obj\f<<\f/Filter\f/FlateDecode\f>>\fstream\n"), deflateSync(content)]),
    "a list of numbers in pieces": () => inPieces([...content].join(",\xa0")),
    "a short text in UTF-16": () => Buffer.from("\ufeff日本 WScript.Shell 日本 a.Run 日本", "utf16le"),
    "a picture of PowerPoint's": () => Buffer.concat([Buffer.from("80801af0c8000000", "hex"), noise(200)]),
    "a packed picture in a stream of PowerPoint's": () =>
      Buffer.concat([
        Buffer.from("8080f00310000000", "hex"),
        noise(16),
        Buffer.from("80801af0ffffff00", "hex"),
        noise(48),
        Buffer.from("0080789c", "hex"),
        noise(100),
      ]),
    "an object of OLE 1": () => Buffer.concat([Buffer.from([200, 0, 0, 0]), noise(200)]),
    "a gzip in noise": () => Buffer.concat([noise(5001), gzipSync(noise(100)), noise(100)]),
    "an LZH in noise": () => Buffer.concat([noise(5001), lzhOf(noise(100)), noise(100)]),
    "a program": () => readFileSync(process.execPath).subarray(0, 1000),
  };
  for (const [name, make] of Object.entries(files)) {
    test(name, () => assert.equal(mayHoldMembers(memoryBlob(make())), true));
  }
});

test("noise and nothing do not, and no opener thinks so either", () => {
  for (const bytes of [Buffer.alloc(0), noise(4096), noise(300_000)]) {
    // The first bytes decide whether it could be LZMA or zlib, which have no magic number to speak of.
    if (bytes.length > 0) bytes.fill(0xff, 0, 16);
    assert.equal(mayHoldMembers(memoryBlob(bytes)), false);
    assert.deepEqual(containersIn(memoryBlob(bytes)), []);
  }
});

test("what begins like a container by chance is no reason to unpack a file", () => {
  // A gzip whose stream would begin with a block of no type; any flags may be set.
  const gzip = "\x1f\x8b\x08\x80\x80\x80\x80\x80\x80\x80\x87";
  const marks = [gzip, "-lh\x80", "\x60\xea\x80", "{\\rt", "obj", "\0\x11\x10\x80"];
  for (const mark of marks) {
    const file = Buffer.concat([noise(3001), Buffer.from(mark, "latin1"), noise(3000)]).fill(0xff, 0, 16);
    assert.equal(mayHoldMembers(memoryBlob(file)), false, mark);
    assert.deepEqual(containersIn(memoryBlob(file)), []);
  }
});

test("an opener knows nothing that has none of the bytes by which it says its contents are known", () => {
  const samples = containersOfAllKinds
    .filter(({ needs, maxBytes }) => needs.length === 0 && maxBytes > 300)
    .map(({ wrap, extension }) => wrap(noise(300), `a${extension}`));
  const kinds = new Set<string>();
  const check = (bytes: Buffer): void => {
    const file = memoryBlob(bytes);
    for (const { kind, knownBy, find } of OPENERS) {
      if (!knownBy || find(file).length === 0) continue;
      kinds.add(kind);
      assert.ok(mayBe(knownBy, file), `${kind}: ${bytes.toString("hex", 0, 32)}`);
    }
  };
  for (const sample of samples) check(sample);
  assert.ok(kinds.size > 30, `only ${[...kinds].join(", ")}`);
  const changed = fc.record({
    sample: fc.nat(samples.length - 1),
    bytes: fc.array(fc.tuple(fc.nat(31), fc.nat(255)), { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(changed, ({ sample, bytes }) => {
      const file = Buffer.from(samples[sample] ?? []);
      for (const [at, byte] of bytes) if (at < file.length) file[at] = byte;
      check(file);
    }),
    { numRuns: 2000 },
  );
});

describe("what is known by bytes at an offset of its own", () => {
  const files: Record<string, [kind: string, bytes: Record<number, string>]> = {
    "a disk image of the Mac": ["dmg", { [-512]: "6b6f6c790000000400000200" }],
    "a disk image of Windows": ["vhd", { [-512]: "636f6e65637469780000" }],
    "a disk with a partition": [
      "disk",
      { 446: "80", 454: "0100000001000000", 462: "00", 478: "00", 494: "00", 510: "55aa" },
    ],
    "a floppy disk": ["fat", { 11: "00020101000110000600f00100", 512: "f0ffff" }],
    "a raw disc": ["raw-disc", { 0: "00ffffffffffffffffffff0000020001", 2352: "00ffffffffffffffffffff00" }],
    "a file system of Linux": ["ext", { 1024: "01", 1048: "00000000", 1080: "53ef", 1100: "00000000" }],
    "a file system of Minix": ["unknown", { 1024: "10000000", 1030: "010001000500", 1048: "5a4d", 1052: "0004" }],
    "a table of contents of OneNote": ["onenote", { 0: "a12fff43d9ef764c9ee210ea5722765f" }],
    "a packed program of Linux": ["packed-program", { 0: "7f454c46", 100: "55505821" }],
    "a packed program of DOS, the other way around": ["packed-program", { 0: "5a4d", 85: "55505821" }],
    "a packed program of the Mac": ["packed-program", { 0: "feedfacf", 100: "55505821" }],
    "a packed program of the Mac, in the other order": ["packed-program", { 0: "cffaedfe", 100: "55505821" }],
    "a packed program of the old Mac": ["packed-program", { 0: "cefaedfe", 100: "55505821" }],
    "an installer of Symbian": ["installer", { 4: "6d00001019040010" }],
    "an installer of Symbian's second age": ["installer", { 4: "123a001019040010" }],
    "an installer of Symbian's games": ["installer", { 4: "ce39001019040010" }],
    "an installer of Symbian's third age": ["installer", { 0: "7a1a2010" }],
    "a setup of Inno": ["installer", { 0: "7a6c621a" }],
  };
  for (const [name, [kind, offsets]] of Object.entries(files)) {
    test(name, () => {
      const bytes = Buffer.alloc(4096, 0xff);
      for (const [at, hex] of Object.entries(offsets))
        bytes.write(hex, (Number(at) + bytes.length) % bytes.length, "hex");
      const kinds = containersIn(memoryBlob(bytes)).map(({ opener }) => opener.kind);
      assert.ok(kinds.includes(kind), `known as ${kinds.join(", ") || "nothing"}`);
      assert.equal(mayHoldMembers(memoryBlob(bytes)), true);
    });
  }
});

test("what an opener knows is let through, however little is left of it", () => {
  const samples = containersOfAllKinds
    .filter(({ needs, maxBytes }) => needs.length === 0 && maxBytes > 300)
    .map(({ wrap, extension }) => wrap(noise(300), `a${extension}`).subarray(0, 4000));
  const { length } = samples;
  assert.ok(length > 300);
  const broken = fc.record({
    sample: fc.nat(length - 1),
    kept: fc.constantFrom(8, 16, 32, 64, 128, 512, 4000),
    every: fc.integer({ min: 5, max: 22 }),
    strange: fc.constantFrom(0x80, 0xa0, 0x0b, 0x0c, 0x01),
    before: fc.constantFrom(0, 0, 1, 2, 3, 500),
    behind: fc.nat(600),
    bytes: fc.array(fc.tuple(fc.nat(63), fc.nat(255)), { maxLength: 3 }),
  });
  let held = 0;
  fc.assert(
    fc.property(broken, ({ sample, kept, every, strange, before, behind, bytes }) => {
      const file = Buffer.concat([noise(before), samples[sample]?.subarray(0, kept) ?? Buffer.alloc(0), noise(behind)]);
      for (const [at, byte] of bytes) if (at < file.length) file[at] = byte;
      for (let at = 24; at < file.length; at += every) file[at] = strange;
      if (mayHoldMembers(memoryBlob(file))) return;
      held += 1;
      const kinds = containersIn(memoryBlob(file)).map(({ opener }) => opener.kind);
      assert.deepEqual(kinds, [], file.toString("latin1"));
    }),
    { numRuns: 3000 },
  );
  assert.ok(held > 100);
});
