import assert from "node:assert/strict";
import { test } from "node:test";
import { newJobId } from "./job-queue.ts";

test("ids are UUIDs of version 7, all different, and in the order of time", () => {
  const ids = Array.from({ length: 10_000 }, () => newJobId());
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(newJobId(Date.UTC(2026, 0, 1)) < newJobId(Date.UTC(2026, 0, 2)));
});
