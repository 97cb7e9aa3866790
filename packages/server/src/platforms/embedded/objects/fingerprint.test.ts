import assert from "node:assert/strict";
import { test } from "node:test";
import { hasContentOf, isVersion, reliableInMs, versionOf } from "./fingerprint.ts";

const stat = { ino: 12n, size: 100n, mtimeNs: 1_790_000_000_123_456_789n, ctimeNs: 1_790_000_000_223_456_789n };

test("whatever changes in a file's record makes another version", () => {
  assert.ok(isVersion(versionOf(stat)));
  assert.equal(versionOf(stat), versionOf({ ...stat }));
  for (const other of [{ ino: 13n }, { size: 101n }, { mtimeNs: stat.mtimeNs + 1n }, { ctimeNs: stat.ctimeNs + 1n }]) {
    assert.notEqual(versionOf({ ...stat, ...other }), versionOf(stat));
  }
});

test("a file that was moved still has the content of its version, one that was written to has not", () => {
  const version = versionOf(stat);
  assert.equal(hasContentOf(version, { ...stat, ctimeNs: stat.ctimeNs + 5n }), true);
  assert.equal(hasContentOf(version, { ...stat, ino: 13n }), true);
  assert.equal(hasContentOf(version, { ...stat, mtimeNs: stat.mtimeNs + 5n }), false);
  assert.equal(hasContentOf(version, { ...stat, size: 99n }), false);
});

test("a version is relied on when the file system's clock has made a step since", () => {
  const changedAt = 1_790_000_000_223;
  assert.equal(reliableInMs(stat, changedAt), 20);
  assert.equal(reliableInMs(stat, changedAt + 15), 5);
  assert.equal(reliableInMs(stat, changedAt + 20), 0);
  assert.equal(reliableInMs(stat, changedAt + 1e9), 0);
});

test("where times have no fractions the steps are long, and a clock that is ahead is waited for no longer than a step", () => {
  const coarse = { ctimeNs: 1_790_000_000_000_000_000n };
  assert.equal(reliableInMs(coarse, 1_790_000_000_500), 1500);
  assert.equal(reliableInMs(coarse, 1_790_000_002_000), 0);
  assert.equal(reliableInMs(stat, 0), 20);
});
