import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compareVersions, parseVersion, type VersionNumber } from "./version-number.ts";

describe("a version number", () => {
  for (const text of ["0.0.0", "3.4.1", "2.10.0", "999999999.0.12"]) {
    it(`may be ${text}`, () => assert.equal(parseVersion(text), text));
  }

  const wrong = ["", "3", "3.4", "3.4.1.0", "v3.4.1", "3.4.1-beta", "3.4.x", "03.4.1", "3..1", " 3.4.1", "3.4.1\n"];
  for (const text of [...wrong, "-1.0.0", "1e3.0.0", "1234567890.0.0", "３.4.1"]) {
    it(`may not be ${JSON.stringify(text)}`, () => assert.equal(parseVersion(text), undefined));
  }

  const inOrder: VersionNumber[] = ["0.0.9", "0.0.10", "1.7.0", "2.2.1", "2.9.0", "2.10.0", "2.17.0", "10.0.0"];
  for (const [index, older] of inOrder.entries()) {
    it(`${older} is older than every newer one, and the same as itself`, () => {
      assert.equal(compareVersions(older, older), 0);
      for (const newer of inOrder.slice(index + 1)) {
        assert.ok(compareVersions(older, newer) < 0, newer);
        assert.ok(compareVersions(newer, older) > 0, newer);
      }
    });
  }

  it("is compared by its first number that differs", () => {
    const numbers = fc.tuple(fc.nat(20), fc.nat(20), fc.nat(20));
    fc.assert(
      fc.property(numbers, numbers, (left, right) => {
        const at = left.findIndex((number, index) => number !== right[index]);
        const expected = at === -1 ? 0 : Math.sign((left[at] ?? 0) - (right[at] ?? 0));
        const text = ([major, minor, patch]: [number, number, number]): VersionNumber => `${major}.${minor}.${patch}`;
        assert.equal(Math.sign(compareVersions(text(left), text(right))), expected);
      }),
    );
  });
});
