import assert from "node:assert/strict";
import { test } from "node:test";
import { isWhole, wholeBytes, wholeWhenTaken } from "./whole-bytes.ts";

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

test("bytes that are looked at when they are taken say what is wrong with them then, and not before", async () => {
  const good = wholeWhenTaken(() => Buffer.from("abc"));
  assert.ok(isWhole(good));
  assert.equal(String(good.takeAll()), "abc");
  const chunks: string[] = [];
  for await (const chunk of good) chunks.push(String(chunk));
  for await (const chunk of wholeWhenTaken(() => Buffer.alloc(0))) chunks.push(String(chunk));
  assert.deepEqual(chunks, ["abc"]);
  const bad = wholeWhenTaken(() => {
    throw new Error("not a form");
  });
  assert.throws(() => bad.takeAll(), /not a form/);
  await assert.rejects(async () => {
    for await (const _ of bad) assert.fail("there is nothing to read");
  }, /not a form/);
});
