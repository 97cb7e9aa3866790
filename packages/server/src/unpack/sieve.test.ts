import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { ar, arj, cab, compound, cpio, iso, packedBy7z, rpm } from "../../test/fixtures/archives.ts";
import { stored, zip } from "../../test/fixtures/zip-writer.ts";
import { memoryBlob } from "./blob.ts";
import { containersIn } from "./openers.ts";
import { holdsText, mayHoldMembers } from "./sieve.ts";

const content = Buffer.from("a payload of some length, and a little more of it\n".repeat(10));

/** Noise in which no signature stands by chance. */
function noise(bytes: number): Buffer {
  return Buffer.from(randomBytes(bytes).map((byte) => byte | 0x80));
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

test("wherever text stands in noise it is found, and no shorter stretch is", () => {
  /** Byte by byte. */
  const plainly = (bytes: Uint8Array): boolean => {
    let length = 0;
    for (const byte of bytes) {
      if ((byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d) length += 1;
      else if (byte !== 0) length = 0;
      if (length >= 24) return true;
    }
    return false;
  };
  const stretch = fc.oneof(
    fc.tuple(fc.constantFrom(0x41, 0x20, 0x7e, 0x09, 0x0a, 0x0d), fc.integer({ min: 1, max: 26 })),
    fc.tuple(fc.constant(0), fc.integer({ min: 1, max: 30 })),
    fc.tuple(fc.constantFrom(0x7f, 0x80, 0xff, 0x1f, 0x01), fc.constant(1)),
  );
  let found = 0;
  fc.assert(
    fc.property(fc.array(stretch, { maxLength: 12 }), (stretches) => {
      const bytes = Buffer.concat(stretches.map(([byte, count]) => Buffer.alloc(count, byte)));
      assert.equal(holdsText(bytes), plainly(bytes));
      if (holdsText(bytes)) found += 1;
    }),
    { numRuns: 5000 },
  );
  assert.ok(found > 500 && found < 4500);
});
