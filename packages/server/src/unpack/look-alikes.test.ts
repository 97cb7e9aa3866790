import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { memoryBlob } from "./blob.ts";
import { looksLikeAnother } from "./look-alikes.ts";

const at = (offset: number, text: string, before = ""): Buffer => {
  const content = Buffer.alloc(2048, 0x20);
  content.write(before, 0, "latin1");
  content.write(text, offset, "latin1");
  return content;
};
const looks = (content: Uint8Array, kind: string): boolean => looksLikeAnother(memoryBlob(content), kind);

describe("what clamd may take for something else", () => {
  const mistaken: Record<string, [Buffer, string]> = {
    "a tar with the name of a picture": [at(257, "ustar", "GIF89a.gif"), "tar"],
    "a tar with a name in capitals": [at(257, "ustar", "MMORPG.txt"), "tar"],
    "a tar with a date for a name": [at(257, "ustar", "070701.txt"), "tar"],
    "an old tar with the name of a document": [at(300, "", "%PDF-1.4.pdf"), "tar"],
    "a tar whose first file is like a disk": [at(512, "EFI PART", "a.txt"), "tar"],
    "a zip like a tar": [at(257, "ustar", "PK\x03\x04"), "zip"],
    "a gzip like a disk": [at(512, "EFI PART", "\x1f\x8b\x08"), "gzip"],
    "a gzip with a document in its date": [at(4, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "\x1f\x8b\x08\x08"), "gzip"],
    "a mail like a disk": [at(512, "EFI PART", "From: a"), "mail"],
    "a PDF like a disk": [at(512, "EFI PART", "%PDF-1.4\n"), "pdf"],
    "a compound file like a phone's": [at(8, "\x19\x04\x00\x10", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "ole"],
  };
  for (const [name, [content, kind]] of Object.entries(mistaken)) {
    test(name, () => assert.ok(looks(content, kind)));
  }

  test("not what looks like itself", () => {
    assert.ok(!looks(at(257, "ustar", "package/index.js"), "tar"));
    assert.ok(!looks(at(257, "ustar", "./"), "tar"));
    assert.ok(!looks(at(4, "\x14\0\0\0\x08\0", "PK\x03\x04"), "zip"));
    assert.ok(!looks(gzipSync("hello"), "gzip"));
    assert.ok(!looks(at(9, "\n", "%PDF-1.7"), "pdf"));
    assert.ok(
      !looks(at(24, "\x3e\0\x03\0\xfe\xff\x09\0", `\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1${"\0".repeat(16)}`), "ole"),
    );
    assert.ok(!looks(at(30, "\r\n", "Received: from a"), "mail"));
    assert.ok(!looks(Buffer.from("a"), "tar"));
  });
});
