import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { compileWasm } from "../../unpack/web-assembly.ts";
import { withoutRepeatedConstructors } from "./lean-yara.ts";

const script = createRequire(import.meta.url).resolve("@virustotal/yara-x");
const original = readFileSync(script.replace(/\.js$/, "_bg.wasm"));

test("the repeated constructors are gone from the functions that scans pass by", () => {
  const { program, removed } = withoutRepeatedConstructors(original);
  // Memory in and out, references, exceptions and closures: if this fails after an update, scans have become slow.
  assert.equal(removed, 8);
  assert.equal(program.length, original.length);
  const changed = original.reduce((count, byte, index) => count + (byte === program[index] ? 0 : 1), 0);
  assert.equal(changed, removed * 3);
  compileWasm(program);
});

test("a program that looks different is left as it is", () => {
  const empty = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);
  assert.deepEqual(withoutRepeatedConstructors(empty), { program: empty, removed: 0 });
});

test("a program that is cut off is an error", () => {
  assert.throws(() => withoutRepeatedConstructors(original.subarray(0, 2000)), /it ends too early/);
});
