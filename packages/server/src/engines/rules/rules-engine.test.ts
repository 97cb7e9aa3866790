import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ar, arj, cab, compound, cpio, iso, packedBy7z, rpm } from "../../../test/fixtures/archives.ts";
import { deflated, zip } from "../../../test/fixtures/zip-writer.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { atTheEnd, temporaryFolder } from "../../../test/support/leftovers.ts";
import { chunks, rulesEngine, verdictOf } from "../../../test/support/rules-engine.ts";

const folder = temporaryFolder();
const engine = await rulesEngine({ temporaryFolder: folder.path, threads: 1 });
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => engine.close());

const never = new AbortController().signal;
const FOUND = "infected EICAR_Test_File";
/** Without a run of the test file that could be seen from outside an archive that only copies it. */
const infected = Buffer.concat([Buffer.from("some text in front of it\n".repeat(40)), eicar()]);
const harmless = Buffer.from("some text and nothing else\n".repeat(40));

describe("the EICAR test file is found", () => {
  const packed: Record<string, (content: Buffer) => Buffer> = {
    "by itself": (content) => content,
    "in a zip": (content) => packedBy7z(content, "zip"),
    "in a zip with deflate64": (content) => packedBy7z(content, "zip", ["-mm=deflate64"]),
    "in a zip with bzip2": (content) => packedBy7z(content, "zip", ["-mm=bzip2"]),
    "in a zip with lzma": (content) => packedBy7z(content, "zip", ["-mm=lzma"]),
    "in a zip with ppmd": (content) => packedBy7z(content, "zip", ["-mm=ppmd"]),
    "in a 7z": (content) => packedBy7z(content, "7z"),
    "in a tar": (content) => packedBy7z(content, "tar"),
    "in a tar.gz": (content) => gzipSync(packedBy7z(content, "tar")),
    "in a tar.xz": (content) => packedBy7z(packedBy7z(content, "tar"), "xz"),
    "in a gz": (content) => gzipSync(content),
    "in a bz2": (content) => packedBy7z(content, "bz2"),
    "in an xz": (content) => packedBy7z(content, "xz"),
    "in a wim": (content) => packedBy7z(content, "wim"),
    "in a cab": (content) => cab(content),
    "in an arj": (content) => arj(content),
    "in an iso": (content) => iso(content),
    "in a cpio": (content) => cpio(content),
    "in a deb": (content) => ar(gzipSync(packedBy7z(content, "tar"))),
    "in an rpm": (content) => rpm(content),
    "in a docx": (content) =>
      zip([deflated("word/document.xml", harmless), deflated("word/embeddings/o.bin", content)]),
    "in a jar": (content) => zip([deflated("META-INF/MANIFEST.MF", harmless), deflated("a/B.class", content)]),
    "in an object embedded in an OLE document": (content) => compound("\x01Ole10Native", content),
    "in a zip behind a program": (content) =>
      Buffer.concat([readFileSync(process.execPath).subarray(0, 100_000), packedBy7z(content, "zip")]),
    "in a 7z behind a program": (content) =>
      Buffer.concat([readFileSync(process.execPath).subarray(0, 100_000), packedBy7z(content, "7z")]),
    "in a cab inside a docx inside a tar.gz inside a 7z": (content) =>
      packedBy7z(gzipSync(packedBy7z(zip([deflated("word/object.cab", cab(content))]), "tar")), "7z"),
  };
  for (const [name, pack] of Object.entries(packed)) {
    test(name, async () => {
      assert.equal(await verdictOf(engine, pack(infected)), FOUND);
      assert.equal(await verdictOf(engine, pack(harmless)), "clean", "the same without the test file");
    });
  }
});

describe("ClamAV's own test files", () => {
  const testFiles = "/usr/share/clamav-testfiles";
  const foundInside = [
    "7z",
    "arj",
    "bin-be.cpio",
    "bin-le.cpio",
    "bz2.zip",
    "cab",
    "chm",
    "d64.zip",
    "exe.bz2",
    "exe.szdd",
  ];
  const more = ["impl.zip", "newc.cpio", "odc.cpio", "ole.doc", "tar.gz", "zip", "tnef"];
  for (const ending of [...foundInside, ...more]) {
    test(`clam.${ending} is infected`, async () => {
      assert.equal(await verdictOf(engine, readFileSync(`${testFiles}/clam.${ending}`)), "infected ClamAV_Test_File");
    });
  }
  test("the installer clam-nsis.exe is infected", async () => {
    assert.equal(await verdictOf(engine, readFileSync(`${testFiles}/clam-nsis.exe`)), "infected ClamAV_Test_File");
  });
});

test("a file larger than memory allows is looked at down to its last byte", async () => {
  async function* large(): AsyncGenerator<Uint8Array> {
    const piece = randomBytes(1024 * 1024);
    for (let i = 0; i < 40; i += 1) yield piece;
    yield eicar();
  }
  assert.equal(await verdictOf(engine, large()), FOUND);
});

test("what stands across the border of two windows is found", async () => {
  const border = 16 * 1024 * 1024;
  const content = Buffer.alloc(border + 1000);
  content.set(eicar(), border - 30);
  assert.equal(await verdictOf(engine, content), FOUND);
});

test("of files that are spooled, none is judged by the bytes of the one before", async () => {
  const MIB = 1024 * 1024;
  const sizes = [5 * MIB, 2 * MIB, 16 * MIB, 16 * MIB - 1, 16 * MIB + 1, MIB + 1, 7 * MIB];
  for (const size of [...sizes, ...sizes.toReversed()]) {
    const content = Buffer.alloc(size, 0x80);
    assert.equal(await verdictOf(engine, content), "clean", `${size} bytes`);
    // The last bytes of all: shorter files that come next do not reach them.
    content.set(eicar(), size - eicar().length);
    assert.equal(await verdictOf(engine, content), FOUND, `${size} bytes`);
    assert.equal(await verdictOf(engine, gzipSync(content)), FOUND, `${size} bytes, packed`);
  }
});

test("many small files at once each get their own verdict", async () => {
  const contents = Array.from({ length: 200 }, (_, index) => {
    if (index % 50 === 7) return infected;
    return index % 9 === 0 ? gzipSync(`${index} harmless`) : Buffer.from(`file number ${index}`);
  });
  const words = await Promise.all(contents.map((content) => verdictOf(engine, content)));
  assert.deepEqual(
    words,
    contents.map((content) => (content === infected ? FOUND : "clean")),
  );
});

test("an empty file is clean", async () => {
  assert.equal(await verdictOf(engine, Buffer.alloc(0)), "clean");
});

test("a source that fails fails the scan with its own error, and nothing stays behind", async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield randomBytes(3 * 1024 * 1024);
    throw new Error("the connection broke");
  }
  await assert.rejects(engine.scan(failing(), never), /^Error: the connection broke$/);
});

test("a scan that is given up ends with the caller's reason", async () => {
  const caller = new AbortController();
  const scan = engine.scan(chunks(gzipSync(Buffer.alloc(60 * 1024 * 1024))), caller.signal);
  setImmediate(() => caller.abort(new Error("client gone")));
  await assert.rejects(scan, /client gone/);
});

test("nothing is ever left in the temporary folder, which only we can read", () => {
  const [own, ...others] = readdirSync(folder.path);
  assert.ok(own);
  assert.deepEqual(others, []);
  assert.equal(statSync(`${folder.path}/${own}`).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(`${folder.path}/${own}`), []);
});

test("health says how many rules there are, and what that means", async () => {
  const { ready, checks } = await engine.health(never);
  assert.equal(ready, true);
  assert.match(checks.map(({ detail }) => detail).join("\n"), /\d+ built-in rules and 0 of your own; what they do not/);
});
