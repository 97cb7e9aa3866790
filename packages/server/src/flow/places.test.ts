import assert from "node:assert/strict";
import { test } from "node:test";
import { places } from "./places.ts";

const never = new AbortController().signal;

test("one share holds its part and no more, and what is left is for others", () => {
  const few = places({ total: 5, perShare: 4 });
  assert.deepEqual(
    Array.from({ length: 5 }, () => few.tryEnter("a")),
    [true, true, true, true, false],
  );
  assert.deepEqual([few.free, few.onlyForOthers], [1, true]);
  assert.equal(few.tryEnter("b"), true);
  assert.deepEqual([few.free, few.onlyForOthers, few.tryEnter("c")], [0, false, false]);
  few.leave("a");
  assert.deepEqual([few.tryEnter("c"), few.held.get("a")], [true, 3]);
});

test("a place that becomes free goes to the share that holds least, and inside a share to who came first", async () => {
  const two = places({ total: 2, perShare: 2 });
  two.enter("a");
  two.enter("a");
  const order: string[] = [];
  const waits = ["a1", "a2", "b1"].map(async (name) => {
    await two.enterWhenFree(name.slice(0, 1), never);
    order.push(name);
  });
  two.leave("a");
  two.leave("a");
  two.leave("b");
  await Promise.all(waits);
  assert.deepEqual(order, ["b1", "a1", "a2"]);
});

test("nobody waits behind a share that is full", async () => {
  const some = places({ total: 3, perShare: 1 });
  some.enter("a");
  const waiting = some.enterWhenFree("a", never);
  await some.enterWhenFree("b", never);
  assert.equal(some.tryEnter("c"), true);
  some.leave("a");
  await waiting;
});

test("a wait that is given up takes no place", async () => {
  const one = places({ total: 1, perShare: 1 });
  one.enter("a");
  const stop = new AbortController();
  const waiting = one.enterWhenFree("b", stop.signal);
  stop.abort(new Error("given up"));
  await assert.rejects(waiting, /given up/);
  one.leave("a");
  assert.deepEqual([one.free, one.tryEnter("c")], [1, true]);
  await assert.rejects(one.enterWhenFree("b", stop.signal), /given up/);
});
