import assert from "node:assert/strict";
import { test } from "node:test";
import { Busy } from "../model/faults.ts";
import { gate } from "./gate.ts";

const never = new AbortController().signal;

test("no more callers than slots are inside, and the next in line enters when one leaves", async () => {
  const door = gate({ slots: 2, longestLine: 5 });
  const first = await door.enter(never);
  await door.enter(never);
  const third = door.enter(never);
  const fourth = door.enter(never);
  assert.deepEqual([door.inside, door.waiting], [2, 2]);

  first();
  const leaveThird = await third;
  assert.deepEqual([door.inside, door.waiting], [2, 1]);
  leaveThird();
  await fourth;
  assert.deepEqual([door.inside, door.waiting], [2, 0]);
});

test("leaving twice frees one slot only", async () => {
  const door = gate({ slots: 1 });
  const leave = await door.enter(never);
  leave();
  leave();
  assert.equal(door.inside, 0);
  await door.enter(never);
  assert.equal(door.inside, 1);
});

test("a full line refuses the next caller as busy", async () => {
  const door = gate({ slots: 1, longestLine: 1 });
  await door.enter(never);
  const waiting = door.enter(never);
  waiting.catch(() => {});
  await assert.rejects(door.enter(never), Busy);
});

test("a caller that gives up leaves the line and takes no slot", async () => {
  const door = gate({ slots: 1, longestLine: 5 });
  const leave = await door.enter(never);
  const impatient = new AbortController();
  const waiting = door.enter(impatient.signal);
  impatient.abort(new Error("client gone"));
  await assert.rejects(waiting, /client gone/);
  assert.equal(door.waiting, 0);
  leave();
  assert.equal(door.inside, 0);
});

test("the next to enter is the first in line of the key that has the fewest inside", async () => {
  const door = gate({ slots: 2 });
  const leave = await door.enter(never, "crowd");
  await door.enter(never, "crowd");
  const entered: string[] = [];
  for (const name of ["crowd 1", "crowd 2", "other 1", "other 2"]) {
    void door.enter(never, name.split(" ")[0]).then((leaveNext) => {
      entered.push(name);
      leaveNext();
    });
  }
  leave();
  await new Promise(setImmediate);
  assert.deepEqual(entered, ["other 1", "other 2", "crowd 1", "crowd 2"]);
});

test("one key holds its part and no more, and what is left is for others", () => {
  const few = gate({ slots: 5, perKey: 4 });
  const leaves = Array.from({ length: 5 }, () => few.tryEnter("a"));
  assert.deepEqual(
    leaves.map((leave) => leave !== undefined),
    [true, true, true, true, false],
  );
  assert.deepEqual([few.free, few.onlyForOthers], [1, true]);
  assert.ok(few.tryEnter("b"));
  assert.deepEqual([few.free, few.onlyForOthers, few.tryEnter("c")], [0, false, undefined]);
  leaves[0]?.();
  assert.ok(few.tryEnter("c"));
  assert.equal(few.held.get("a"), 3);
});

test("a slot that becomes free goes to the key that holds least, and inside a key to who came first", async () => {
  const two = gate({ slots: 2 });
  const leaves = [two.enterAnyway("a"), two.enterAnyway("a")];
  const order: string[] = [];
  const waits = ["a1", "a2", "b1"].map(async (name) => {
    const leave = await two.enter(never, name.slice(0, 1));
    order.push(name);
    if (name === "b1") leave();
  });
  for (const leave of leaves) leave();
  await Promise.all(waits);
  assert.deepEqual(order, ["b1", "a1", "a2"]);
});

test("nobody waits behind a key that is full", async () => {
  const some = gate({ slots: 3, perKey: 1 });
  const leave = some.enterAnyway("a");
  const waiting = some.enter(never, "a");
  assert.equal(some.free, 2);
  await some.enter(never, "b");
  assert.ok(some.tryEnter("c"));
  leave();
  await waiting;
});

test("a wait for a key that is given up takes no slot", async () => {
  const one = gate({ slots: 1, perKey: 1 });
  const leave = one.enterAnyway("a");
  const stop = new AbortController();
  const waiting = one.enter(stop.signal, "b");
  stop.abort(new Error("given up"));
  await assert.rejects(waiting, /given up/);
  leave();
  assert.equal(one.free, 1);
  assert.ok(one.tryEnter("c"));
  await assert.rejects(one.enter(stop.signal, "b"), /given up/);
});

test("work that has begun enters although all slots are taken, and who waits enters when there is room again", async () => {
  const one = gate({ slots: 1 });
  const leaves = [one.enterAnyway("a"), one.enterAnyway("a")];
  assert.deepEqual([one.inside, one.free], [2, 0]);
  let entered = false;
  const waiting = one.enter(never, "b").then(() => {
    entered = true;
  });
  leaves[0]?.();
  await new Promise(setImmediate);
  assert.deepEqual([entered, one.inside, one.waiting], [false, 1, 1]);
  leaves[1]?.();
  await waiting;
  assert.deepEqual([one.inside, one.waiting], [1, 0]);
});

test("a slot goes to the key that holds fewest for its weight, and to keys that hold as many in turn", async () => {
  const door = gate({ slots: 3, weightOf: (key) => (key === "heavy" ? 2 : 1) });
  const leaves = ["heavy", "heavy", "light"].map((key) => door.tryEnter(key));
  const entered: string[] = [];
  const waitAs = (key: string): void => void door.enter(never, key).then(() => entered.push(key));
  for (const key of ["light", "light", "heavy", "new"]) waitAs(key);
  for (const leave of leaves) {
    leave?.();
    await new Promise(setImmediate);
  }
  assert.deepEqual(entered, ["new", "heavy", "light"]);

  const weighed = gate({ slots: 4, weightOf: (key) => (key === "heavy" ? 4 : 1) });
  const [leaving] = ["another", "heavy", "heavy", "light"].map((key) => weighed.tryEnter(key));
  const first = Promise.race(["light", "heavy"].map((key) => weighed.enter(never, key).then(() => key)));
  leaving?.();
  assert.equal(await first, "heavy", "it holds two of four, the other one of one");

  const single = gate({ slots: 1 });
  const order: string[] = [];
  let leave = single.tryEnter("other");
  for (const key of ["many", "many", "many", "few"]) {
    void single.enter(never, key).then((next) => {
      order.push(key);
      leave = next;
    });
  }
  for (let count = 0; count < 4; count += 1) {
    leave?.();
    await new Promise(setImmediate);
  }
  assert.deepEqual(order, ["many", "few", "many", "many"]);
});
