import assert from "node:assert/strict";
import { test } from "node:test";
import { cameSince } from "./came-since.ts";

const since = 5000;

function times(ctimeMs: number, mtimeMs = ctimeMs): { ctimeMs: bigint; ctimeNs: bigint; mtimeNs: bigint } {
  return { ctimeMs: BigInt(ctimeMs), ctimeNs: BigInt(ctimeMs) * 1_000_000n, mtimeNs: BigInt(mtimeMs) * 1_000_000n };
}

test("files are new that came or changed since, however old their content is", () => {
  const recent = cameSince(since);
  recent.enter("", times(9000, 1));
  assert.equal(recent.has("a", times(4999)), false);
  assert.equal(recent.has("b", times(5000)), true);
  assert.equal(recent.has("c", times(9000, 1)), true);
});

test("all that is in a folder that was moved in is new, and nothing beside it", () => {
  const recent = cameSince(since);
  recent.enter("moved/", times(6000, 1000));
  assert.equal(recent.has("moved/old", times(1000)), true);
  recent.enter("moved/deep/", times(1000));
  assert.equal(recent.has("moved/deep/old", times(1000)), true);
  assert.equal(recent.has("moved/older", times(500)), true);
  assert.equal(recent.has("moved.txt", times(1000)), false);
  recent.enter("other/", times(1000));
  assert.equal(recent.has("other/old", times(1000)), false);
});

test("a folder into which something came, or that was moved before, makes nothing new", () => {
  const recent = cameSince(since);
  recent.enter("busy/", times(6000, 6000));
  assert.equal(recent.has("busy/old", times(1000)), false);
  recent.enter("moved long ago/", times(4000, 1000));
  assert.equal(recent.has("moved long ago/old", times(1000)), false);
});
