import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bytesAt, sampleOf, sampler } from "./sample.ts";

const SAMPLE_BYTES = 64 * 1024;

function patterned(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
}

test("keeps the first and the last 64 KB of a file, however it is cut into chunks", () => {
  const sizes = fc.oneof(fc.nat(300), fc.nat(2 * SAMPLE_BYTES), fc.constantFrom(SAMPLE_BYTES, SAMPLE_BYTES + 1));
  fc.assert(
    fc.property(fc.array(sizes, { maxLength: 6 }), (chunkSizes) => {
      const whole = patterned(chunkSizes.reduce((sum, size) => sum + size, 0));
      const seen = sampler();
      let at = 0;
      for (const size of chunkSizes) {
        const chunk = whole.slice(at, at + size);
        seen.see(chunk);
        chunk.fill(0);
        at += size;
      }
      const sample = seen.sample();
      assert.equal(sample.sizeBytes, whole.length);
      assert.ok(Buffer.from(whole.subarray(0, SAMPLE_BYTES)).equals(sample.head));
      assert.ok(Buffer.from(whole.subarray(Math.max(0, whole.length - SAMPLE_BYTES))).equals(sample.tail));
    }),
    { numRuns: 60 },
  );
});

test("a file that comes byte by byte gives the same sample", () => {
  const whole = patterned(3000);
  const seen = sampler();
  for (const byte of whole) seen.see(Uint8Array.of(byte));
  assert.ok(Buffer.from(whole).equals(seen.sample().head));
  assert.ok(Buffer.from(whole).equals(seen.sample().tail));
});

test("nothing seen is an empty sample", () => {
  assert.deepEqual(sampler().sample(), { head: new Uint8Array(0), tail: new Uint8Array(0), sizeBytes: 0 });
});

test("bytes are found by their offset in the file, in either end, and are none in the gap between", () => {
  const whole = patterned(5 * SAMPLE_BYTES);
  const sample = sampleOf(whole);
  for (const offset of [0, 7, SAMPLE_BYTES - 4, 4 * SAMPLE_BYTES, whole.length - 4]) {
    assert.deepEqual([...bytesAt(sample, offset, 4)], [...whole.slice(offset, offset + 4)]);
  }
  for (const offset of [-1, SAMPLE_BYTES, 2 * SAMPLE_BYTES, whole.length, whole.length + 9]) {
    assert.equal(bytesAt(sample, offset, 4).length, 0);
  }
});

test("bytes that are all here give the same sample as those that pass by, with what their head points to", () => {
  const sizes = fc.oneof(fc.nat(300), fc.constantFrom(SAMPLE_BYTES, SAMPLE_BYTES + 1), fc.constant(4 * SAMPLE_BYTES));
  const places = fc.integer({ min: SAMPLE_BYTES - 10, max: 4 * SAMPLE_BYTES + 10 });
  let pointed = 0;
  fc.assert(
    fc.property(sizes, places, fc.nat(2 * SAMPLE_BYTES), (size, place, cut) => {
      const whole = patterned(size);
      const tiff = Buffer.from("II*\0....");
      tiff.writeUInt32LE(place, 4);
      if (size >= tiff.length) whole.set(tiff);
      const seen = sampler();
      seen.see(whole.subarray(0, cut));
      seen.see(whole.subarray(cut));
      const { head, tail, middle, sizeBytes } = sampleOf(whole);
      const passed = seen.sample();
      assert.deepEqual([sizeBytes, middle?.at], [passed.sizeBytes, passed.middle?.at]);
      assert.ok(Buffer.from(head).equals(passed.head) && Buffer.from(tail).equals(passed.tail));
      if (!middle) return;
      pointed += 1;
      assert.ok(Buffer.from(middle.bytes).equals(passed.middle?.bytes ?? Buffer.alloc(0)));
    }),
    { numRuns: 60 },
  );
  assert.ok(pointed > 5);
});
