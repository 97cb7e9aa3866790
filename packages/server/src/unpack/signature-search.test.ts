import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { memoryBlob } from "./blob.ts";
import { MARKS, NEEDLES, signaturesAndMarksIn, signaturesIn } from "./signature-search.ts";
import { holdsText } from "./text-stretch.ts";

/** Each by itself, byte by byte. */
function plainly(content: Buffer, patterns: Readonly<Record<string, string>>): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const [name, text] of Object.entries(patterns)) {
    const positions: number[] = [];
    for (let at = content.indexOf(text, 0, "latin1"); at >= 0; at = content.indexOf(text, at + 1, "latin1"))
      positions.push(at);
    if (positions.length > 0) found.set(name, positions);
  }
  return found;
}

test("signatures and marks are found wherever they stand, at any address, and nothing else is", () => {
  const all = { ...NEEDLES, ...MARKS };
  const part = fc.oneof(
    fc.constantFrom(...Object.values(all)),
    // Two bytes are enough, and one may stand before the other.
    fc.constantFrom("\x60", "\xea", "P", "PK", "K\x03", "\0", "\0\0\x11", "-l", "7z", "ob", "%"),
    fc.nat(5).map((length) => randomBytes(length).toString("latin1")),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.nat(3), (parts, offset) => {
      const spread = Buffer.concat([Buffer.alloc(offset), Buffer.from(parts.join(""), "latin1")]);
      const content = Buffer.from(spread.buffer, spread.byteOffset + offset, spread.length - offset);
      const sorted = (found: ReadonlyMap<string, readonly number[]>): unknown[] => [...found].sort();
      const seen = signaturesAndMarksIn(memoryBlob(content));
      assert.equal(seen === undefined, holdsText(content));
      if (seen) assert.deepEqual(sorted(seen), sorted(plainly(content, all)));
      const needles = signaturesIn(memoryBlob(content));
      assert.deepEqual(sorted(needles), sorted(plainly(content, NEEDLES)));
    }),
    { numRuns: 3000 },
  );
});
