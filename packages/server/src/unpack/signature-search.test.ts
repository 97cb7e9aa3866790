import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { type Blob, memoryBlob } from "./blob.ts";
import { MARKS, type Mark, marksIn, NEEDLES, signaturesAndMarksIn, signaturesIn } from "./signature-search.ts";
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
      assert.deepEqual(sorted(signaturesIn(memoryBlob(content))), sorted(plainly(content, all)));
    }),
    { numRuns: 3000 },
  );
});

test("of a large content its front and its back are searched for signatures, and all of it for marks", () => {
  const MIB = 1024 * 1024;
  const size = 12 * MIB + 777;
  // Across the ends of pieces, too.
  const places = [0, MIB - 3, 5 * MIB, 8 * MIB - 1, 8 * MIB, 9 * MIB - 5, 10 * MIB + 40, 11 * MIB - 2, 12 * MIB + 700];
  const marks = Object.entries(MARKS);
  for (const [index, place] of places.entries()) {
    const content = Buffer.alloc(size, 0xff);
    const [mark = "", text = ""] = marks[index % marks.length] ?? [];
    content.write(text, place, "latin1");
    const at = place + 20;
    content.write(NEEDLES.nsis, at, "latin1");
    for (const blob of [memoryBlob(content), pretendedFile(content)]) {
      for (const [name] of marks)
        assert.deepEqual(marksIn(blob, name as Mark), name === mark ? [place] : [], `${name} at ${place}`);
      const isSearched = at < 8 * MIB || at >= 11 * MIB;
      assert.deepEqual(signaturesIn(blob).get("nsis"), isSearched ? [at] : undefined, `signature at ${at}`);
    }
  }
});

/** Has to be read, and not at one address. */
function pretendedFile(content: Buffer): Blob {
  return { ...memoryBlob(content), inMemory: false };
}
