import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { BYTES_AT_ONCE, groupScan } from "./group-scan.ts";

const HASH = { alwaysSet: 0x202020, factor: 0x9e3779b1, bits: 18 };

function hashAt(content: Uint8Array, place: number): number {
  const [first = 0, second = 0, third = 0] = content.subarray(place, place + 3);
  return Math.imul(first | (second << 8) | (third << 16) | HASH.alwaysSet, HASH.factor) >>> (32 - HASH.bits);
}

/** By hand: the first place of all eights in which an even place is known. Behind the end there are zeros. */
function expected(content: Uint8Array, known: ReadonlySet<number>): number[] {
  const firsts: number[] = [];
  for (let first = 0; first < content.length; first += BYTES_AT_ONCE) {
    const places = Array.from({ length: BYTES_AT_ONCE / 2 }, (_, index) => first + 2 * index);
    if (places.some((place) => known.has(hashAt(content, place)))) firsts.push(first);
  }
  return firsts;
}

function scanOf(known: ReadonlySet<number>) {
  const bits = new Int32Array(2 ** HASH.bits / 32);
  for (const hash of known) bits[hash >>> 5] = (bits[hash >>> 5] ?? 0) | (1 << (hash & 31));
  const scan = groupScan(bits, HASH);
  assert.ok(scan, "this machine has SIMD");
  return scan;
}

function visited(scan: ReturnType<typeof scanOf>, content: Uint8Array): number[] {
  const firsts: number[] = [];
  scan(content, (first) => firsts.push(first) > 0);
  return firsts;
}

const hashes = fc.array(fc.integer({ min: 0, max: 2 ** HASH.bits - 1 }), { maxLength: 50 });

test("every even place whose three bytes are known is visited, and nothing that has none", () => {
  let found = 0;
  const contents = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.array(fc.constantFrom(0, 0x20, 0x41, 0x61, 0xff), { maxLength: 120 }).map((bytes) => Uint8Array.from(bytes)),
  );
  fc.assert(
    fc.property(hashes, contents, fc.array(fc.nat(200)), fc.nat(3), (some, bytes, places, offset) => {
      const content = Buffer.concat([Buffer.alloc(offset), bytes]).subarray(offset);
      const known = new Set([...some, ...places.map((place) => hashAt(content, place))]);
      const firsts = expected(content, known);
      assert.deepEqual(visited(scanOf(known), content), firsts);
      found += firsts.length;
    }),
    { numRuns: 300 },
  );
  assert.ok(found > 100, `${found}`);
});

test("contents of many windows are looked at from their first to their last byte", () => {
  const known = new Set([hashAt(Buffer.from("abc"), 0)]);
  const scan = scanOf(known);
  const window = 64 * 1024;
  for (const size of [window - 1, window, window + 1, window + 17, 3 * window + 5]) {
    for (const near of [
      0,
      16,
      window - 2,
      window - 1,
      window,
      window + 1,
      2 * window - 2,
      size - 4,
      size - 3,
      size - 2,
    ]) {
      for (const place of [near, near + 1].map((each) => each - (each % 2)).filter((each) => each < size)) {
        const content = Buffer.alloc(size, 0xf7);
        content.write("abc", place);
        const whole = place + 3 <= size;
        assert.deepEqual(visited(scan, content), whole ? [place - (place % 16)] : [], `at ${place} of ${size}`);
      }
    }
  }
});

test("what was looked at before is forgotten, and whoever has seen enough is left alone", () => {
  const scan = scanOf(new Set([hashAt(Buffer.from("abc"), 0)]));
  assert.deepEqual(visited(scan, Buffer.from("abcabc".repeat(10))), [0, 16, 32, 48]);
  assert.deepEqual(visited(scan, Buffer.from("x")), []);
  assert.deepEqual(visited(scan, Buffer.alloc(0)), []);
  let visits = 0;
  scan(Buffer.from("abcabc".repeat(50_000)), () => {
    visits += 1;
    return visits < 3;
  });
  assert.equal(visits, 3);
});

test("more hashes than there is room for are refused", () => {
  assert.throws(() => groupScan(new Int32Array(8193), HASH), /cannot hold so many hashes/);
});
