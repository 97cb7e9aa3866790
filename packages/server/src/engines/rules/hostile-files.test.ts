import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { crc32, gzipSync } from "node:zlib";
import { compound, packedBy7z } from "../../../test/fixtures/archives.ts";
import { deflated, encrypted, stored, zip } from "../../../test/fixtures/zip-writer.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../../../test/support/leftovers.ts";
import { rulesEngine, verdictOf } from "../../../test/support/rules-engine.ts";

const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
// It is about the limits of size and number: on a busy machine the limit of time would be met first.
const engine = await rulesEngine({ temporaryFolder: folder.path, threads: 1, timeLimitMs: 150_000 });
atTheEnd(() => engine.close());

/** As xz writes it down, and as a zip of a Unix system does. */
const THREE_HALVES_OF_A_GIB = 37;
const LINK_ATTRIBUTES = 0o120777 * 0x10000;

const FOUND = "infected EICAR_Test_File";
const LIMITS = "no scanner:limits-exceeded";
const ENCRYPTED = "no scanner:encrypted";
const UNSUPPORTED = "no scanner:unsupported-archive";

// Large ones are in the table of hostile files, which the journeys ask every engine about.
describe("what is beyond the limits is said to be so", () => {
  test("the test file is still found if it comes before the limit", async () => {
    const many = Array.from({ length: 100_050 }, (_, index) => stored(`${index}`, Buffer.from(`${index}`)));
    assert.equal(await verdictOf(engine, zip(many)), LIMITS);
    const inner = deflated("inner.zip", zip(many));
    assert.equal(await verdictOf(engine, zip([inner, deflated("eicar.com", eicar())])), FOUND);
  });

  test("an archive that wants more memory than it is given", async () => {
    const archive = packedBy7z(Buffer.from("text\n".repeat(1000)), "xz");
    // The header of the first block: its size, flags, one filter with its dictionary's size, and a checksum.
    const header = archive.subarray(12, 12 + (archive.readUInt8(12) + 1) * 4);
    const dictionary = header.indexOf(Buffer.of(0x21, 0x01)) + 2;
    header.writeUInt8(THREE_HALVES_OF_A_GIB, dictionary);
    header.writeUInt32LE(crc32(header.subarray(0, -4)), header.length - 4);
    assert.equal(await verdictOf(engine, archive), LIMITS);
  });
});

describe("what is encrypted is said to be so", () => {
  const content = Buffer.from("a secret\n".repeat(50));
  const files: Record<string, () => Buffer> = {
    "a zip": () => zip([encrypted("a", content, "password")]),
    "a zip with AES": () => packedBy7z(content, "zip", ["-ppassword", "-mem=AES256"]),
    "a 7z": () => packedBy7z(content, "7z", ["-ppassword"]),
    "a 7z with encrypted names": () => packedBy7z(content, "7z", ["-ppassword", "-mhe=on"]),
    "a zip in which one member of several is": () => zip([stored("a", content), encrypted("b", content, "password")]),
    "an encrypted zip in a tar.gz": () => gzipSync(packedBy7z(zip([encrypted("a", content, "password")]), "tar")),
    "an encrypted Office document": () => compound("EncryptedPackage", randomBytes(6000)),
  };
  for (const [name, make] of Object.entries(files)) {
    test(name, async () => assert.equal(await verdictOf(engine, make()), ENCRYPTED));
  }
  test("but the test file beside it is worse", async () => {
    const members = [encrypted("a", content, "password"), deflated("eicar.com", eicar())];
    assert.equal(await verdictOf(engine, zip(members)), FOUND);
  });
});

describe("what cannot be opened is never clean", () => {
  const good = packedBy7z(Buffer.from("text\n".repeat(10_000)), "7z");
  const files: Record<string, () => Buffer> = {
    "a 7z that lost its end": () => good.subarray(0, good.length - 20),
    "a gz that lost its end": () => gzipSync(randomBytes(5000)).subarray(0, 3000),
    "a zip packed by a method nobody knows": () =>
      zip([{ ...deflated("a", eicar()), packed: [randomBytes(60)], method: 77 }]),
    "a zip with a damaged member": () => damaged(zip([deflated("a", randomBytes(5000))]), 100),
    "a rar signature with nothing behind it": () => Buffer.from("Rar!\x1a\x07\x01\x00 and no archive", "latin1"),
    "an OLE document that lost its end": () => compound("Stream", randomBytes(6000)).subarray(0, 3000),
    "an lz4 file": () => Buffer.from("\x04\x22\x4d\x18 something", "latin1"),
    "an lzip file": () => Buffer.from("LZIP\x01 something", "latin1"),
    "an ACE archive": () => Buffer.from("12\x31\0\0\0\x90**ACE** something", "latin1"),
    "a BinHex file": () => Buffer.from("(This file must be converted with BinHex 4.0)\n\n:abc:", "latin1"),
  };
  for (const [name, make] of Object.entries(files)) {
    test(name, async () => assert.equal(await verdictOf(engine, make()), UNSUPPORTED));
  }
});

describe("the test file is found where an archive hides it", () => {
  const member = deflated("eicar.com", Buffer.concat([Buffer.alloc(500), eicar()]));
  const harmless = [deflated("readme.txt", Buffer.from("nothing here"))];
  const files: Record<string, () => Buffer> = {
    "in the first of two zips": () => Buffer.concat([zip([member]), zip(harmless)]),
    "in the second of two zips": () => Buffer.concat([zip(harmless), zip([member])]),
    "in a zip in the comment of a zip": () => zip(harmless, { comment: zip([member]) }),
    "in a zip in front of the members of another": () => zip(harmless, { prefix: zip([member]), prefixCounted: true }),
    "in a zip with a megabyte behind it": () => zip([member], { trailing: Buffer.alloc(1024 * 1024, "x") }),
    "in a folder that has content": () => zip([{ ...member, name: "folder/" }]),
    "in a gz behind a gz": () => Buffer.concat([gzipSync("hello"), gzipSync(eicar())]),
    "in a tar behind a tar": () => Buffer.concat([packedBy7z(Buffer.from("a"), "tar"), packedBy7z(eicar(), "tar")]),
    "in a zip that is a picture": () =>
      zip([member], { prefix: Buffer.from("GIF89a\x01\x00\x01\x00\x00\x00\x00\x2c", "latin1"), prefixCounted: true }),
    "in a zip without an end": () => zip([...harmless, member]).subarray(0, -30),
  };
  for (const [name, make] of Object.entries(files)) {
    test(name, async () => assert.equal(await verdictOf(engine, make()), FOUND));
  }

  test("in what a zip calls a link", async () => {
    const file = zip([deflated("link", Buffer.concat([Buffer.from("../".repeat(50)), eicar()]))]);
    file.writeUInt32LE(LINK_ATTRIBUTES, file.indexOf("PK\x01\x02") + 38);
    assert.equal(await verdictOf(engine, file), FOUND);
  });
});

test("a program and a text with the signature of an archive in them are still scanned", async () => {
  const text = Buffer.from(
    "an archive begins with Rar!\x1a\x07\x00 or with 7z\xbc\xaf\x27\x1c, or else PK\x05\x06",
    "latin1",
  );
  assert.equal(await verdictOf(engine, text), "clean");
  assert.equal(await verdictOf(engine, Buffer.concat([Buffer.from("MZ"), randomBytes(5000), text, eicar()])), FOUND);
});

test("no hostile file leaves anything behind", () => {
  for (const name of readdirSync(folder.path)) assert.deepEqual(readdirSync(`${folder.path}/${name}`), []);
});

function damaged(file: Buffer, at: number): Buffer {
  file.fill(0xff, at, at + 20);
  return file;
}
