import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { byteScan, plainScan } from "./byte-scan.ts";
import { byteScanProgram, WINDOW_BYTES } from "./byte-scan-program.ts";

const PATTERNS = [
  "PK\x03\x04",
  "\x60\xea",
  "\0\x11\x10",
  "obj",
  "\xd0\xcf\x11\xe0",
  "Rar!\x1a\x07",
  "\x1f\x8b\x08",
  "=ybegin ",
];

/** Byte by byte. */
function textIn(bytes: Uint8Array): boolean {
  let length = 0;
  for (const byte of bytes) {
    if ((byte >= 0x20 && byte < 0x7f) || [0x09, 0x0a, 0x0c, 0x0d].includes(byte)) length += 1;
    else if (byte !== 0) length = 0;
    if (length >= 24) return true;
  }
  return false;
}

const stretch = fc.oneof(
  fc.tuple(fc.constantFrom(0x41, 0x20, 0x7e, 0x09, 0x0a, 0x0c, 0x0d), fc.integer({ min: 1, max: 26 })),
  fc.tuple(fc.constant(0), fc.integer({ min: 1, max: 40 })),
  fc.tuple(fc.constantFrom(0x7f, 0x80, 0xff, 0x1f, 0x01, 0x0b), fc.constantFrom(1, 1, 1, 15, 16, 17)),
);
const part = fc.oneof(
  { weight: 3, arbitrary: stretch.map(([byte, count]) => Buffer.alloc(count, byte)) },
  { weight: 1, arbitrary: fc.constantFrom(...PATTERNS).map((text) => Buffer.from(text, "latin1")) },
);

const fast = byteScan(PATTERNS, "plain");
const fastest = byteScan(PATTERNS, "shortest");
assert.ok(fast && fastest, "this machine has SIMD, and this Node all of it");
const scans = {
  "sixteen at a time": fast,
  "sixteen at a time, with fewer instructions": fastest,
  "one by one": plainScan(PATTERNS),
};

for (const [name, scan] of Object.entries(scans)) {
  describe(`looking over bytes ${name}`, () => {
    function look(bytes: Uint8Array, untilText: boolean): { text: boolean; places: number[] } {
      const places: number[] = [];
      const text = scan(bytes, (at) => void places.push(at), untilText);
      return { text, places };
    }

    test("finds text wherever it stands, and no shorter stretch", () => {
      let found = 0;
      fc.assert(
        fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
          const bytes = Buffer.concat(parts);
          assert.equal(look(bytes, true).text, textIn(bytes));
          assert.equal(look(bytes, false).text, false);
          if (textIn(bytes)) found += 1;
        }),
        { numRuns: 5000 },
      );
      assert.ok(found > 500 && found < 4500);
    });

    test("passes over no place where a pattern begins, and comes to them in order", () => {
      fc.assert(
        fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
          const bytes = Buffer.concat(parts);
          const { places } = look(bytes, false);
          assert.deepEqual(
            places,
            [...places].sort((one, other) => one - other),
          );
          for (const text of PATTERNS) {
            for (let at = bytes.indexOf(text, 0, "latin1"); at >= 0; at = bytes.indexOf(text, at + 1, "latin1"))
              assert.ok(places.includes(at), `${JSON.stringify(text)} at ${at}`);
          }
        }),
        { numRuns: 3000 },
      );
    });

    test("finds each pattern at every place of a piece, and text as well", () => {
      for (const text of [...PATTERNS, "text of 24 characters..."]) {
        for (let at = 0; at <= 64 - text.length; at += 1) {
          const bytes = Buffer.alloc(64, 0xff);
          bytes.write(text, at, "latin1");
          const { text: isText, places } = look(bytes, true);
          assert.ok(text.length < 24 ? places.includes(at) : isText, `${JSON.stringify(text)} at ${at}`);
        }
      }
    });

    test("looks at the last byte of the largest piece, and at nothing that was there before", () => {
      const largest = Buffer.alloc(WINDOW_BYTES, 0xff);
      largest.write("text of 24 characters...", WINDOW_BYTES - 24);
      assert.equal(look(largest, true).text, true);
      largest.write("\x60\xea", WINDOW_BYTES - 2, "latin1");
      assert.deepEqual(look(largest, true), { text: false, places: [WINDOW_BYTES - 2] });
      look(Buffer.from("\x60\xea", "latin1"), true);
      assert.deepEqual(look(Buffer.from([0x60]), true), { text: false, places: [] });
      assert.deepEqual(look(largest.subarray(WINDOW_BYTES - 20, WINDOW_BYTES - 1), true), { text: false, places: [] });
    });

    test("has room for a hit at every place", () => {
      const many = Buffer.alloc(WINDOW_BYTES, "\x60\xea", "latin1");
      const { places } = look(many, true);
      assert.equal(places.length, WINDOW_BYTES / 2);
      assert.equal(
        places.findIndex((place, index) => place !== 2 * index),
        -1,
      );
    });
  });
}

test("bytes with their upper bit set are no text to a program that passes over them", () => {
  const halves = { lower: new Uint8Array(16), upper: new Uint8Array(16) };
  const kinds = new Uint8Array(256);
  const program = (): Uint8Array =>
    byteScanProgram({ kinds, stretch: halves, textBytes: 24, groups: [halves, halves, halves] }, "plain");
  kinds[0x7f] = 1;
  assert.ok(program().length > 0);
  kinds[0x80] = 1;
  assert.throws(program, /cannot look for text with upper bits/);
});
