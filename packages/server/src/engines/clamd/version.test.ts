import assert from "node:assert/strict";
import { test } from "node:test";
import { readVersion, signatureAge } from "./version.ts";

const now = Date.UTC(2026, 10, 15);

test("signatures of yesterday are fresh, and the words tell their number and age", () => {
  const version = readVersion("ClamAV 1.4.6/27815/Sat Nov 14 00:00:00 2026");
  assert.ok(version);
  const age = signatureAge(version, now);
  assert.equal(age.fresh, true);
  assert.equal(age.words, "signatures 27815, 1.0 days old");
});

test("signatures older than 7 days are not fresh", () => {
  const version = readVersion("ClamAV 1.4.6/27800/Sat Nov  7 00:00:00 2026");
  assert.ok(version);
  assert.deepEqual(signatureAge(version, now + 1), {
    fresh: false,
    words: "signatures 27800, 8.0 days old: older than 7 days, run freshclam",
  });
});

test("clamd with signatures of our own only has no age to tell", () => {
  const version = readVersion("ClamAV 1.4.6");
  assert.deepEqual(version, { product: "ClamAV 1.4.6" });
  assert.equal(signatureAge({ product: "ClamAV 1.4.6" }, now).fresh, true);
});

test("something else on the port is not taken for clamd", () => {
  assert.equal(readVersion("HTTP/1.1 400 Bad Request"), undefined);
  assert.equal(readVersion(""), undefined);
});
