import assert from "node:assert/strict";
import { test } from "node:test";
import { Busy } from "../model/faults.ts";
import { gate } from "./gate.ts";

const never = new AbortController().signal;

test("no more callers than slots are inside, and the next in line enters when one leaves", async () => {
  const door = gate(2, 5);
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
  const door = gate(1);
  const leave = await door.enter(never);
  leave();
  leave();
  assert.equal(door.inside, 0);
  await door.enter(never);
  assert.equal(door.inside, 1);
});

test("a full line refuses the next caller as busy", async () => {
  const door = gate(1, 1);
  await door.enter(never);
  const waiting = door.enter(never);
  waiting.catch(() => {});
  await assert.rejects(door.enter(never), Busy);
});

test("a caller that gives up leaves the line and takes no slot", async () => {
  const door = gate(1, 5);
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
  const door = gate(2);
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
