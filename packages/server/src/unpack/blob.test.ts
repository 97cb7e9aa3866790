import assert from "node:assert/strict";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { type Blob, fileBlob, joinedBlob, memoryBlob } from "./blob.ts";
import { containersIn } from "./openers.ts";

const content = Buffer.from(Array.from({ length: 300 }, (_, index) => index % 251));

function inFile(bytes: Buffer, work: (blob: Blob) => void): void {
  using folder = temporaryFolder();
  const path = join(folder.path, "content");
  writeFileSync(path, bytes);
  const descriptor = openSync(path, "r");
  try {
    work(fileBlob(descriptor, 0, bytes.length));
  } finally {
    closeSync(descriptor);
  }
}

test("a file reads as the same bytes in memory do, before its first byte and behind its last too, and so do its slices", () => {
  const place = fc.integer({ min: -20, max: content.length + 20 });
  const length = fc.nat(content.length + 30);
  inFile(content, (file) => {
    fc.assert(
      fc.property(fc.nat(content.length), fc.nat(content.length), place, length, (from, to, position, wanted) => {
        const pairs = [
          [memoryBlob(content), file],
          [memoryBlob(content).slice(from, to), file.slice(from, to)],
        ] as const;
        for (const [memory, disk] of pairs) {
          assert.equal(disk.size, memory.size);
          assert.deepEqual(disk.bytes(position, wanted), memory.bytes(position, wanted));
          const [read, expected] = [Buffer.alloc(wanted), Buffer.alloc(wanted)];
          assert.equal(disk.read(read, position), memory.read(expected, position));
          assert.deepEqual(read, expected);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

test("what begins before the first byte is nothing, of a file as well", () => {
  for (const beginning of ["-lh5-", "x-lh5-", "PK\x05\x06", "\0\x11\x10", "YZ", "\x00Attribut\x00e"]) {
    const bytes = Buffer.concat([Buffer.from(beginning, "latin1"), Buffer.alloc(2000, 0x80)]);
    const kinds = (blob: Blob): string[] => containersIn(blob).map(({ opener }) => opener.kind);
    inFile(bytes, (file) => assert.deepEqual(kinds(file), kinds(memoryBlob(bytes)), beginning));
  }
});

test("several blobs read as one", () => {
  const joined = joinedBlob([memoryBlob(content.subarray(0, 100)), memoryBlob(content.subarray(100))]);
  assert.deepEqual(joined.bytes(90, 20), content.subarray(90, 110));
});
