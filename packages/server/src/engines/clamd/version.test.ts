import assert from "node:assert/strict";
import { test } from "node:test";
import { readVersion, signatureWords } from "./version.ts";

const now = Date.UTC(2026, 10, 15);

test("the words tell number and age of the signatures", () => {
  const version = readVersion("ClamAV 1.4.6/27815/Sat Nov 14 00:00:00 2026");
  assert.ok(version);
  assert.equal(signatureWords(version, now), "signatures 27815, 1.0 days old");
  // A clock that is behind makes nothing younger than new.
  assert.equal(signatureWords(version, 0), "signatures 27815, 0.0 days old");
});

test("clamd with signatures of our own only has no age to tell", () => {
  const version = readVersion("ClamAV 1.4.6");
  assert.deepEqual(version, { product: "ClamAV 1.4.6" });
  assert.match(signatureWords({ product: "ClamAV 1.4.6" }, now), /^signatures of unknown age/);
});

test("something else on the port is not taken for clamd", () => {
  assert.equal(readVersion("HTTP/1.1 400 Bad Request"), undefined);
  assert.equal(readVersion(""), undefined);
});
