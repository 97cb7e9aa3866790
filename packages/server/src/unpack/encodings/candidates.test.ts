import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { type Blob, fileBlob, memoryBlob, type Range } from "../blob.ts";
import { BASE64_BREAKS } from "./base64-gaps.ts";
import { findBase64 } from "./base64-runs.ts";
import { type Breaks, unbrokenStretches } from "./candidates.ts";
import { findHex, HEX_BREAKS } from "./hex.ts";
import { type Text, textOf } from "./text.ts";

type Find = (text: Text, range: Range, found: (reading: Range) => void) => void;
const SEARCHES: readonly [name: string, find: Find, breaks: Breaks][] = [
  ["base64", findBase64, BASE64_BREAKS],
  ["hexadecimal digits", findHex, HEX_BREAKS],
];

/** What stands between the pieces of a run, or ends it; and words that are neither. */
const SIGNS = [
  ..." \t\r\n=,.@$:|#*>;\"'`\\%&+-_/(){}[]<>!?~^",
  ...[
    "\\n",
    "\\r\\n",
    "%0A",
    "%2B",
    "&#10;",
    "&#x41;",
    "\\/",
    "\\u002b",
    "\\x41",
    '" + "',
    "' . '",
    '", "',
    "==",
    "= ",
  ],
  ...['" & _\r\n "', '"\n b"', "echo ", ">>a\r\n", "\n# ", "\n * ", '";\ns = s + "', "\u00e9", "\0"],
];
const WORDS = ["the", "a", "b", "n", "value", "x", "h", "4d", "0x41", "FFh", "123", "7", "contract"];
const LENGTHS = [1, 2, 3, 5, 8, 16, 20, 31, 32, 33, 40, 76, 100];
const PROSE = " some words in between that are long enough to matter ";

/** The same numbers in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed * 2654435761 + 1;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function noise(length: number, seed: number): Buffer {
  return createHash("shake128", { outputLength: length }).update(`candidates ${seed}`).digest();
}

/** Pieces of base64 or of digits, with one kind of sign between them or with all kinds. */
function textOfPieces(seed: number): string {
  const roll = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[roll(list.length)] as T;
  const glue = Array.from({ length: 1 + roll(3) }, () => pick(SIGNS));
  const [inDigits, oneGlue] = [roll(2) === 0, roll(2) === 0];
  const piece = (index: number): string => {
    const bytes = noise(pick(LENGTHS), seed * 100 + index);
    return (inDigits ? bytes.toString("hex") : bytes.toString("base64").replaceAll("=", "")).slice(0, bytes.length);
  };
  const parts = Array.from({ length: 3 + roll(50) }, (_, index) => {
    const kind = roll(10);
    const word = kind < 5 ? piece(index) : kind < 7 ? pick(WORDS) : "";
    return word + (oneGlue || roll(3) === 0 ? pick(glue) : pick(SIGNS));
  });
  return [pick(["", "hello world. ", `${"x".repeat(300)} `]), ...parts, pick(["", " the end of it", "\n"])].join("");
}

function readings(find: Find, content: Blob, ranges: readonly Range[]): string[] {
  const text = textOf(content);
  return ranges.flatMap((range) => {
    const found: string[] = [];
    find(text, range, ({ start, end }) => found.push(`${start} to ${end}`));
    return found;
  });
}

function assertSame(find: Find, content: Blob, breaks: Breaks): number {
  const region = { start: 0, end: content.size };
  const inAll = readings(find, content, [region]);
  const inStretches = new Set(readings(find, content, unbrokenStretches(content, region, breaks)));
  const missing = inAll.filter((reading) => !inStretches.has(reading));
  assert.deepEqual(missing, [], JSON.stringify(content.bytes(0, 2000).toString("latin1")));
  return inAll.length;
}

describe("whatever a search finds in a text it finds in the stretches without breaks", () => {
  for (const [name, find, breaks] of SEARCHES) {
    test(name, () => {
      let found = 0;
      for (let seed = 1; seed <= 4000; seed += 1) {
        const text =
          seed % 4 === 0 ? textOfPieces(seed) + PROSE.repeat(seed % 9) + textOfPieces(-seed) : textOfPieces(seed);
        found += assertSame(find, memoryBlob(Buffer.from(text, "latin1")), breaks);
      }
      assert.ok(found > 2000, `only ${found} readings`);
    });

    test(`${name}, in a file that is read piece by piece`, () => {
      using folder = temporaryFolder();
      const path = join(folder.path, "text");
      // The edges of the pieces come to lie in prose, in runs, and at their beginnings and ends.
      const texts = Array.from({ length: 400 }, (_, index) => textOfPieces(5000 + index) + PROSE.repeat(index % 50));
      writeFileSync(path, Buffer.from(texts.join("\n"), "latin1"));
      const descriptor = openSync(path, "r");
      try {
        const { length } = Buffer.from(texts.join("\n"), "latin1");
        assert.ok(length > 600_000);
        assert.ok(assertSame(find, fileBlob(descriptor, 0, length), breaks) > 200);
      } finally {
        closeSync(descriptor);
      }
    });
  }
});

test("ordinary texts have next to none", () => {
  const texts = [
    "The quick brown fox jumps over the lazy dog. ".repeat(200),
    '<w:p w:rsidR="00A77B3E"><w:r><w:t xml:space="preserve">Some text, and more of it</w:t></w:r></w:p>\n'.repeat(200),
    '  { "name": "Amsterdam", "count": 1234, "list": [12, 345, 6] },\n'.repeat(200),
    'import { readFile } from "node:fs/promises";\nexport function find(content: Blob): Range[] {\n'.repeat(200),
  ];
  for (const text of texts) {
    const content = memoryBlob(Buffer.from(text));
    for (const [name, , breaks] of SEARCHES) {
      const stretches = unbrokenStretches(content, { start: 0, end: content.size }, breaks);
      assert.deepEqual(stretches, [], `${name} in ${text.slice(0, 40)}`);
    }
  }
});
