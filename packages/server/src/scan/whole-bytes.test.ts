import assert from "node:assert/strict";
import { test } from "node:test";
import { isWhole, wholeBytes } from "./whole-bytes.ts";

test("bytes that are all here count as read when they are taken, or read to their end, and not before", async () => {
  for (const [content, chunks] of [["abc", 1] as const, ["", 0] as const]) {
    let taken = 0;
    const make = () => wholeBytes(Buffer.from(content), () => void taken++);
    assert.ok(isWhole(make()));
    const iterator = make()[Symbol.asyncIterator]();
    for (let read = 0; read < chunks; read += 1) assert.equal(String((await iterator.next()).value), content);
    assert.equal(taken, 0);
    assert.equal((await iterator.next()).done, true);
    assert.equal(taken, 1);
    assert.equal(String(make().takeAll()), content);
    assert.equal(taken, 2);
  }
  const stopped = wholeBytes(Buffer.from("abc"), () => assert.fail("it was not read to its end"));
  for await (const _ of stopped) break;
});
