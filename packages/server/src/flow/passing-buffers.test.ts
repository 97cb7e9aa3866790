import assert from "node:assert/strict";
import { test } from "node:test";
import { bufferPassed } from "./passing-buffers.ts";

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
