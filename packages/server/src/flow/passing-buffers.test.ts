import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferPassed, giveBack } from "./passing-buffers.ts";

const MIB = 1024 * 1024;

test("of buffers that have passed only the last few are in memory", () => {
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let passed = 0; passed < 128 * MIB; passed += 65_536) {
    bufferPassed(Buffer.allocUnsafeSlow(65_536));
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  assert.ok(most < 16 * MIB, `there were ${most} bytes of them`);
});

test("a buffer that is given back has no memory any more, one that is a part of another keeps it", () => {
  const whole = Buffer.allocUnsafeSlow(65_536);
  const part = Buffer.alloc(65_536, "x").subarray(1);
  giveBack(whole);
  giveBack(part);
  assert.equal(whole.byteLength, 0);
  assert.ok(part.equals(Buffer.alloc(65_535, "x")));
});
