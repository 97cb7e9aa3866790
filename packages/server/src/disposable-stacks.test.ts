import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { OwnAsyncDisposableStack, OwnDisposableStack } from "./disposable-stacks.ts";

for (const [name, Stack] of Object.entries({ "Node's": DisposableStack, "our own": OwnDisposableStack })) {
  suite(`${name} stack`, () => {
    test("undoes once, in reverse order, what was used, adopted and deferred", () => {
      const seen: string[] = [];
      const stack = new Stack();
      const used = { [Symbol.dispose]: () => seen.push("used") };
      assert.equal(stack.use(used), used);
      assert.equal(stack.use(null), null);
      assert.equal(
        stack.adopt("adopted", (value) => seen.push(value)),
        "adopted",
      );
      stack.defer(() => seen.push("deferred"));
      assert.equal(stack.disposed, false);
      stack.dispose();
      stack[Symbol.dispose]();
      assert.equal(stack.disposed, true);
      assert.deepEqual(seen, ["deferred", "adopted", "used"]);
      assert.throws(() => stack.defer(() => {}), ReferenceError);
    });

    test("that was moved undoes nothing, and the other does in the same order", () => {
      const seen: number[] = [];
      const stack = new Stack();
      stack.defer(() => seen.push(1));
      stack.defer(() => seen.push(2));
      const moved = stack.move();
      stack.dispose();
      assert.deepEqual([stack.disposed, moved.disposed, seen], [true, false, []]);
      assert.throws(() => stack.move(), ReferenceError);
      moved.dispose();
      assert.deepEqual(seen, [2, 1]);
    });

    test("goes on after a failure, and tells of all of them", () => {
      const seen: string[] = [];
      const stack = new Stack();
      stack.defer(() => seen.push("reached"));
      for (const message of ["second", "first"]) {
        stack.defer(() => {
          throw new Error(message);
        });
      }
      const told = { name: "SuppressedError", error: new Error("second"), suppressed: new Error("first") };
      assert.throws(() => stack.dispose(), told);
      assert.deepEqual(seen, ["reached"]);
    });
  });
}

for (const [name, Stack] of Object.entries({
  "Node's": AsyncDisposableStack,
  "our own": OwnAsyncDisposableStack,
})) {
  suite(`${name} asynchronous stack`, () => {
    test("waits for each before the next, in reverse order", async () => {
      const seen: string[] = [];
      const slow = (text: string) => async () => {
        await new Promise((resolve) => setImmediate(resolve));
        seen.push(text);
      };
      const stack = new Stack();
      stack.use({ [Symbol.dispose]: () => seen.push("plain") });
      stack.use({ [Symbol.asyncDispose]: slow("slow") });
      stack.use(undefined);
      stack.adopt("adopted", (value) => slow(value)());
      stack.defer(() => void seen.push("deferred"));
      const moved = stack.move();
      await stack.disposeAsync();
      assert.deepEqual([stack.disposed, moved.disposed, seen], [true, false, []]);
      await moved[Symbol.asyncDispose]();
      await moved.disposeAsync();
      assert.deepEqual(seen, ["deferred", "adopted", "slow", "plain"]);
      assert.throws(() => moved.defer(() => {}), ReferenceError);
    });

    test("goes on after a failure, and tells of all of them", async () => {
      const seen: string[] = [];
      const stack = new Stack();
      stack.defer(() => void seen.push("reached"));
      stack.defer(() => Promise.reject(new Error("second")));
      stack.defer(() => {
        throw new Error("first");
      });
      const told = { name: "SuppressedError", error: new Error("second"), suppressed: new Error("first") };
      await assert.rejects(stack.disposeAsync(), told);
      assert.deepEqual(seen, ["reached"]);
    });
  });
}
