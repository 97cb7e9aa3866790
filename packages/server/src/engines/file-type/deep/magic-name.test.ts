import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { nameByMagic } from "./magic-name.ts";

const wasm = readFileSync(createRequire(import.meta.url).resolve("wasmagic/dist/libmagic-wrapper.wasm"));
const name = (description: string): string => nameByMagic(description, () => wasm);

test("kinds with a name of ours get that name", () => {
  assert.equal(name("ARJ archive data, v11, created Jan 11 2015, original name: secret.arj, os: Unix"), "ARJ archive");
  assert.equal(name("byte-swapped cpio archive; device 3, inode 57883"), "cpio archive");
  assert.equal(name("data"), "data");
});

test("other kinds keep the words that libmagic itself has for them, and nothing about the one file", () => {
  assert.equal(name("timezone data (fat), version 2, 1 gmt time flag"), "timezone data");
  assert.equal(name('zlib compressed data, was "salaries.xls"'), "zlib compressed data");
  assert.equal(name("Byte-compiled Python module for CPython 3.11, timestamp-based"), "Byte-compiled Python module");
});

test("words that come from the file never get into a name", () => {
  assert.equal(name("salaries2025 of Jane"), "data");
  const words = fc.array(fc.string({ minLength: 6, maxLength: 30, unit: "grapheme-ascii" }), { maxLength: 6 });
  fc.assert(
    fc.property(words, (quoted) => {
      const given = name(quoted.join(" "));
      assert.ok(given === "data" || wasm.includes(given));
      assert.match(given, /^[ -~]{2,64}$/);
    }),
  );
});
