import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { type Blob, memoryBlob, type Range } from "../blob.ts";
import { textRegions } from "./text-regions.ts";

const isText = (byte = 0): boolean => (byte >= 32 && byte < 127) || [9, 10, 12, 13].includes(byte);

/** Every stretch of 79 plain characters or more: four probes in a row are in it, wherever it begins. */
function stretchesOf(content: Buffer, least = 79): Range[] {
  const stretches: Range[] = [];
  for (let start = 0, at = 0; at <= content.length; at += 1) {
    if (at < content.length && isText(content[at])) continue;
    if (at - start >= least) stretches.push({ start, end: at });
    start = at + 1;
  }
  return stretches;
}

const part = fc.oneof(
  fc.nat(200).map((length) => Buffer.alloc(length, "plain text, and more of it. ")),
  fc.nat(100).map((length) => randomBytes(length)),
  fc.nat(300).map((length) => Buffer.alloc(length, 0x80)),
  fc.constant(Buffer.from([0])),
);

test("every stretch of text is in a region, and every region has four probes of text in a row", () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const content = Buffer.concat(parts);
      const regions = textRegions(memoryBlob(content));
      for (const { start, end } of stretchesOf(content))
        assert.ok(
          // Its last bytes may stand behind the last probe.
          regions.some((region) => region.start <= start && region.end >= end - 15),
          `${start} to ${end} in ${JSON.stringify(regions)}`,
        );
      for (const region of regions)
        assert.ok(stretchesOf(content.subarray(region.start, region.end + 16), 49).length > 0, JSON.stringify(region));
      for (const [index, region] of regions.entries()) {
        assert.ok(region.start < region.end && region.end <= content.length);
        assert.ok(region.start > (regions[index - 1]?.end ?? -1));
      }
    }),
    { numRuns: 3000 },
  );
});

test("noise has no regions; a text that goes on in the next piece is one, of a file too", () => {
  assert.deepEqual(textRegions(memoryBlob(randomBytes(3 * 1024 * 1024))), []);
  const PIECE = 256 * 1024;
  for (const start of [PIECE - 640, PIECE - 100, PIECE - 48, PIECE - 16, PIECE - 1, PIECE, PIECE + 1]) {
    const content = Buffer.alloc(3 * PIECE, 0x80);
    content.fill("some text ", start, start + 1000);
    const inMemory = memoryBlob(content);
    const onDisk: Blob = { ...inMemory, inMemory: false };
    for (const blob of [inMemory, onDisk]) {
      const regions = textRegions(blob);
      assert.equal(regions.length, 1, `${start}`);
      const [region = { start: -1, end: -1 }] = regions;
      assert.ok(region.start <= start && region.start >= start - 64, `from ${region.start}, at ${start}`);
      assert.ok(region.end >= start + 1000 - 15 && region.end <= start + 1016, `to ${region.end}, at ${start}`);
    }
  }
});
