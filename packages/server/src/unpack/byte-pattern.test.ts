import assert from "node:assert/strict";
import { test } from "node:test";
import { anyPattern, askedBy, byteAt, bytePattern, mayKnow } from "./byte-pattern.ts";

const cases: [pattern: string, bytes: string, fits: boolean][] = [
  ["'PK' 03 04", "PK\x03\x04rest", true],
  ["'PK' 03 04", "PK\x03\x05rest", false],
  ["'PK' 03 04", "PK\x03", false],
  ["'BZh' 31-39 '1AY'", "BZh91AY", true],
  ["'BZh' 31-39 '1AY'", "BZh01AY", false],
  ["..*2 '-lh' .. '-'", "ab-lh5-", true],
  ["..*2 '-lh' .. '-'", "a-lh5-", false],
  ["5d 00*3 ff*2", "\x5d\x00\x00\x00\xff\xff", true],
  ["5d 00*3 ff*2", "\x5d\x00\x00\x00\xff\xfe", false],
];

for (const [pattern, bytes, fits] of cases) {
  test(`${pattern} ${fits ? "fits" : "does not fit"} ${JSON.stringify(bytes)}`, () => {
    const content = Buffer.from(bytes, "latin1");
    assert.equal(bytePattern(pattern)(content), fits);
    assert.equal(anyPattern(["'never'", pattern], 0)(content), fits);
    assert.equal(anyPattern([pattern, "'never'"], 3)(Buffer.concat([Buffer.from("..."), content])), fits);
  });
}

test("a pattern may be looked for further on", () => {
  assert.equal(bytePattern("'CD001'")(Buffer.from("xxCD001"), 2), true);
});

test("who is known at several offsets is asked once, and only where one of them fits", () => {
  const many = { knownBy: [byteAt(0, "'a'"), byteAt(2, "'c'", "'x'"), byteAt(-1, "'d'")] };
  const one = { knownBy: [byteAt(2, "'x'")] };
  const asked = askedBy([many, one]);
  const of = (text: string): unknown[] =>
    mayKnow(asked, (offset) => Buffer.from(text)[offset < 0 ? text.length + offset : offset]);
  assert.deepEqual(of("abcd"), [many]);
  assert.deepEqual(of("abx"), [many, one]);
  assert.deepEqual(of("..x."), [many, one]);
  assert.deepEqual(of("...d"), [many]);
  assert.deepEqual(of("b"), []);
  assert.deepEqual(of(""), []);
});
