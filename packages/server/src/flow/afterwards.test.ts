import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { afterwards, atOnce } from "./afterwards.ts";

test("steps are done soon, in their order, and not at once", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const done: string[] = [];
  const { add } = afterwards();
  add(() => done.push("first"));
  add(() => done.push("second"));
  assert.equal(done.length, 0);
  t.mock.timers.tick(100);
  assert.deepEqual(done, ["first", "second"]);
  add(() => done.push("third"));
  t.mock.timers.tick(100);
  assert.deepEqual(done, ["first", "second", "third"]);
});

test("who catches up finds everything done, also what a step adds", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const done: string[] = [];
  const { add, catchUp } = afterwards();
  add(() => {
    add(() => done.push("added by the first"));
    done.push("first");
  });
  add(() => done.push("second"));
  catchUp();
  assert.deepEqual(done, ["first", "second", "added by the first"]);
  t.mock.timers.tick(100);
  assert.equal(done.length, 3);
});

test("a step that catches up does not do itself again", () => {
  let time = 100;
  const done: string[] = [];
  const { add, catchUp, now } = afterwards(() => time);
  add(() => {
    const addedAt = now();
    time = 200;
    done.push("first");
    catchUp();
    assert.equal(now(), addedAt);
  });
  add(() => done.push("second"));
  catchUp();
  assert.deepEqual(done, ["first", "second"]);
  assert.equal(now(), 200);
});

test("a step knows when it was added", () => {
  let time = 100;
  const seen: number[] = [];
  const { add, catchUp, now } = afterwards(() => time);
  add(() => seen.push(now()));
  time = 105;
  add(() => seen.push(now()));
  time = 110;
  catchUp();
  assert.deepEqual(seen, [100, 105]);
  assert.equal(now(), 110);
});

test("many wait no longer than those who have a turn by then", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let done = 0;
  const { add } = afterwards();
  const step = (): void => {
    done += 1;
  };
  for (let round = 1; round <= 3; round += 1) {
    for (let count = 0; count < 49; count += 1) add(step);
    await new Promise(setImmediate);
    assert.equal(done, 50 * (round - 1));
    add(step);
    assert.equal(done, 50 * (round - 1));
    await new Promise(setImmediate);
    assert.equal(done, 50 * round);
  }
  t.mock.timers.tick(100);
  assert.equal(done, 150);
});

test("thousands do not wait", () => {
  let done = 0;
  const { add } = afterwards();
  for (let count = 0; count < 10_000; count += 1)
    add(() => {
      done += 1;
    });
  assert.equal(done, 10_000);
});

test("what steps add is done after those that wait, however many they are", () => {
  const done: string[] = [];
  const { add, catchUp } = afterwards();
  for (let count = 0; count < 6000; count += 1)
    add(() => {
      add(() => done.push("added"));
      done.push("step");
    });
  catchUp();
  assert.deepEqual(done, [...Array<string>(6000).fill("step"), ...Array<string>(6000).fill("added")]);
});

test("a step that throws ends the process, and takes no other step with it", () => {
  const program = `
    import { afterwards } from ${JSON.stringify(new URL("afterwards.ts", import.meta.url).href)};
    const { add, catchUp } = afterwards();
    add(() => { throw new Error("never meant to"); });
    add(() => console.log("second"));
    catchUp();
    console.log("who caught up");
    setTimeout(() => console.log("too late"), 1000);`;
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  assert.equal(run.stdout, "second\nwho caught up\n");
  assert.match(run.stderr, /never meant to/);
  assert.equal(run.status, 1);
});

test("at once is before anything else", () => {
  const done: string[] = [];
  atOnce.add(() => done.push("step"));
  assert.deepEqual(done, ["step"]);
});
