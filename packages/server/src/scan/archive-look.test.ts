import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { hostileFiles } from "../../test/support/hostile-files.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import {
  deflated,
  encrypted,
  packedAs,
  stored,
  withDescriptor,
  withZip64,
  type ZipShape,
  zip,
} from "../../test/support/zip-writer.ts";
import { type ArchiveLimits, archiveLook, type Objection } from "./archive-look.ts";

const limits: ArchiveLimits = { maxEntries: 3, maxMemberBytes: 1000, maxTotalBytes: 2500 };
const text = Buffer.from("to be or not to be, that is the question\n".repeat(10));
const TEST_FILES = "/usr/share/clamav-testfiles";

function lookAt(file: Uint8Array, within?: ArchiveLimits): Objection | undefined {
  const look = archiveLook(within);
  look.see(file);
  return look.finish();
}

const member = () => deflated("hamlet.txt", text);
const streamed = () => withDescriptor(member());
const program = Buffer.concat([Buffer.from("MZ"), Buffer.alloc(600, 7)]);

describe("says nothing about", () => {
  const ordinary: Record<string, Uint8Array> = {
    "an empty file": Buffer.alloc(0),
    "a text that mentions PK\\1\\2 and PK\\5\\6": Buffer.from(
      "PK\x01\x02 ... PK\x05\x06 and then some more bytes to read",
    ),
    "a zip with its sizes in front": zip([member(), stored("empty/", Buffer.alloc(0)), stored("raw.txt", text)]),
    "a zip with its sizes behind, as Java and LibreOffice write it": zip([streamed(), streamed()]),
    "a zip with a comment": zip([member()], { comment: Buffer.from("made with care") }),
    "a zip with bytes behind it": zip([member()], { trailing: Buffer.alloc(100) }),
    "an empty zip": zip([]),
    "a zip in a zip": zip([stored("inner.zip", zip([streamed()])), member()]),
    "a split zip in one piece": zip([member()], { prefix: Buffer.from("PK00"), prefixCounted: true }),
    "a signed Android package": zip([streamed()], { beforeDirectory: androidSignature() }),
    "an Android package with a filled hole": zip([member(), member()], {
      beforeDirectory: zip([stored("", Buffer.alloc(0))]).subarray(0, 30),
    }),
    "a program with a zip behind it": zip([member()], { prefix: program }),
    "a program with a zip behind it that counts from the program on": zip([member()], {
      prefix: program,
      prefixCounted: true,
    }),
    "a program with a lone signature and a zip": zip([member()], {
      prefix: Buffer.concat([program, Buffer.from("PK\x03\x04"), Buffer.alloc(40)]),
    }),
    "a document that holds a zip": Buffer.concat([
      Buffer.from("%PDF-1.7\n"),
      zip([streamed()]),
      Buffer.from("%%EOF\n"),
    ]),
    "a zip cut within its first member": zip([member()]).subarray(0, 60),
    "a small gzip": gzipSync(text),
  };
  for (const [name, file] of Object.entries(ordinary)) {
    test(name, () => assert.equal(lookAt(file), undefined));
  }

  test("the zips of ClamAV's own test files", () => {
    const names = readdirSync(TEST_FILES).filter((name) => name.endsWith(".zip"));
    assert.ok(names.length >= 4);
    for (const name of names) assert.equal(lookAt(readFileSync(join(TEST_FILES, name))), undefined, name);
  });

  for (const method of ["Copy", "Deflate", "Deflate64", "BZip2"]) {
    test(`a zip that 7-Zip packed with ${method}`, () => {
      using folder = temporaryFolder();
      const path = join(folder.path, "made.zip");
      execFileSync("7z", ["a", "-tzip", `-mm=${method}`, path, join(TEST_FILES, "clam.exe")]);
      assert.equal(lookAt(readFileSync(path)), undefined);
    });
  }
});

describe("limits: without asking the engine, objects to", () => {
  const beyond: Record<string, Uint8Array> = {
    "too many entries": zip([member(), member(), member(), member()]),
    "too many entries and no end": zip([member(), member(), member(), member()]).subarray(0, -22),
    "a member that is too large": zip([deflated("a", Buffer.alloc(1001))]),
    "members too large in all": zip([1, 2, 3].map((name) => deflated(`${name}`, Buffer.alloc(900)))),
    "too many entries in a zip stored within": zip([stored("inner", zip([member(), member(), member(), member()]))]),
    "a gzip that is too large": gzipSync(Buffer.alloc(1001)),
  };
  for (const [name, file] of Object.entries(beyond)) {
    test(name, () => {
      const objection = lookAt(file, limits);
      assert.deepEqual([objection?.finding, objection?.hopeless], ["scanner:limits-exceeded", true]);
    });
  }

  test("but not to what is exactly at the limit", () => {
    const exact = [1000, 1000, 500].map((bytes, index) => deflated(`${index}`, Buffer.alloc(bytes)));
    assert.equal(lookAt(zip(exact), limits), undefined);
    assert.equal(lookAt(gzipSync(Buffer.alloc(1000)), limits), undefined);
  });

  test("directory headers strewn about by the thousand, in little time and memory", () => {
    const header = zip([member()]).subarray(-22 - 46 - 10, -22 - 10);
    header.writeUInt16LE(0xffff, 28);
    assert.equal(lookAt(Buffer.concat(Array.from({ length: 5000 }, () => header)))?.hopeless, true);
  });
});

describe("encryption: objects to", () => {
  const hidden: Record<string, Uint8Array> = {
    "an encrypted member": zip([member(), encrypted("secret.txt", text, "password")]),
    "a member encrypted in the directory's words alone": zip([
      { ...encrypted("secret.txt", text, "password"), local: { flags: 0 } },
    ]),
    "WinZip's encryption": zip([packedAs(99, { name: "a", packed: text, content: text })]),
  };
  for (const [name, file] of Object.entries(hidden)) {
    test(name, () => {
      const objection = lookAt(file);
      assert.deepEqual([objection?.finding, objection?.hopeless], ["scanner:encrypted", false]);
    });
  }
});

describe("what the engine does not unpack: objects to", () => {
  const shape = (shape: ZipShape) => zip([member()], shape);
  const notUnpacked: Record<string, Uint8Array> = {
    "zip64 in both headers": zip([withZip64(member(), "both")]),
    "zip64 in the local header": zip([withZip64(member(), "local")]),
    "zip64 in the directory": zip([withZip64(member(), "central")]),
    "a zip64 end record": shape({ zip64End: true }),
    "methods that differ": zip([{ ...member(), local: { method: 0 } }]),
    "packed sizes that differ": zip([{ ...member(), local: { packedBytes: 0 } }]),
    "unpacked sizes that differ": zip([{ ...member(), central: { unpackedBytes: 1 } }]),
    "a stored member with two sizes": zip([{ ...stored("a", text), unpackedBytes: 600 }]),
    "masked headers": zip([{ ...member(), flags: 0x2000 }]),
    "an encryption flag in the local header alone": zip([{ ...member(), local: { flags: 1 } }]),
    "a streamed member that is longer than the directory says": zip([
      { ...streamed(), central: { packedBytes: 0, unpackedBytes: 0 } },
      member(),
    ]),
    "a last member that is longer than the directory says": zip([{ ...streamed(), central: { packedBytes: 0 } }]),
    "a member that reaches into the directory": zip([{ ...streamed(), central: { packedBytes: 5000 } }]),
    "a member elsewhere": zip([{ ...member(), central: { offset: 7 } }]),
    "a member behind the directory": zip([{ ...member(), central: { offset: 500 } }], { trailing: zip([member()]) }),
    "one member under two names": zip([member(), { ...member(), central: { offset: 0 } }]),
    "a first member that the directory leaves out": Buffer.concat([zip([member()]), zip([member()])]),
    "a middle member that the directory leaves out": zip([member()], {
      beforeDirectory: zip([streamed()]).subarray(0, 100),
    }),
    "a directory somewhere else": shape({ end: { directoryOffset: 3 } }),
    "a directory of another length": shape({ end: { directoryBytes: 46 } }),
    "a directory with another number of entries": shape({ end: { entries: 2, entriesHere: 2 } }),
    "bytes between the directory and its end": shape({ beforeEnd: Buffer.from("gap") }),
    "an end record in the comment": shape({ comment: zip([]) }),
    "an end record behind the archive": shape({ trailing: zip([]) }),
    "a zip that looks like a tar": marked("ustar", 257),
    "a zip that looks like a disk": marked("EFI PART", 512),
    "a zip without its end": shape({}).subarray(0, -22),
    "a zip without its directory": zip([streamed(), streamed()]).subarray(0, 150),
    "a zip behind a picture": shape({ prefix: Buffer.from("\xff\xd8\xff\xe0....", "latin1") }),
    "a zip behind a gzip": shape({ prefix: gzipSync(text) }),
    "a zip behind a song": shape({ prefix: Buffer.from("ID3..."), trailing: Buffer.alloc(10) }),
    "a streamed zip behind a program": zip([streamed()], { prefix: program }),
    "a streamed zip behind a program, hidden by another one": Buffer.concat([
      zip([streamed()], { prefix: program }),
      zip([member()]),
    ]),
    "a streamed zip behind and in front of something": zip([streamed()], {
      prefix: Buffer.from("something"),
      trailing: Buffer.alloc(100),
    }),
  };
  for (const method of [1, 2, 7, 14, 93, 95, 96, 98]) {
    notUnpacked[`method ${method}`] = zip([packedAs(method, { name: "a", packed: text, content: text })]);
  }
  for (const [name, file] of Object.entries(notUnpacked)) {
    test(name, () => {
      const objection = lookAt(file);
      assert.deepEqual([objection?.finding, objection?.hopeless], ["scanner:unsupported-archive", false]);
    });
  }
});

test("of the hostile files, objects to none that must be called clean or infected", async () => {
  for (const { name, make } of hostileFiles.filter(({ expected }) => expected !== "no")) {
    const look = archiveLook();
    for await (const chunk of make()) look.see(chunk);
    assert.equal(look.finish(), undefined, name);
  }
});

function marked(mark: string, at: number): Buffer {
  const file = zip([stored("filler", Buffer.alloc(800)), member()]);
  file.write(mark, at);
  return file;
}

function androidSignature(): Buffer {
  return Buffer.concat([Buffer.alloc(500, 1), Buffer.from("APK Sig Block 42")]);
}
