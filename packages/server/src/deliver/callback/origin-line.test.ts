import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { originLine } from "./origin-line.ts";

const never = new AbortController().signal;

describe("the line before an origin", () => {
  it("lets so many through at once, and the others in the order they came", async () => {
    const line = originLine(2);
    const order: string[] = [];
    const [leaveA, leaveB] = [await line.enter("a", never), await line.enter("a", never)];
    const later = ["c", "d"].map(async (name) => {
      const leave = await line.enter("a", never);
      order.push(name);
      return leave;
    });
    await new Promise(setImmediate);
    assert.deepEqual([order, line.waiting("a")], [[], 2]);
    leaveB();
    leaveB();
    (await later[0])?.();
    (await later[1])?.();
    assert.deepEqual(order, ["c", "d"]);
    leaveA();
    assert.equal(line.waiting("a"), 0);
  });

  it("of one origin is nothing to the others", async () => {
    const line = originLine(1);
    await line.enter("https://dead.test", never);
    void line.enter("https://dead.test", never);
    await line.enter("https://alive.test", never);
    assert.deepEqual([line.waiting("https://dead.test"), line.waiting("https://alive.test")], [1, 0]);
  });

  it("can be left while waiting, and nobody is kept out by that", async () => {
    const line = originLine(1);
    const leave = await line.enter("a", never);
    const stop = new AbortController();
    const reason = new Error("no longer needed");
    const waiting = line.enter("a", stop.signal);
    const next = line.enter("a", never);
    stop.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    await assert.rejects(line.enter("a", stop.signal), (error) => error === reason);
    leave();
    (await next)();
  });

  it("never has more inside than allowed, and always lets everybody in, whoever gives up", async () => {
    const visit = fc.record({ origin: fc.constantFrom("a", "b"), givesUp: fc.boolean(), ticks: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(visit, { maxLength: 30 }),
        async (perOrigin, visits) => {
          const line = originLine(perOrigin);
          const inside = { a: 0, b: 0 };
          await Promise.all(
            visits.map(async ({ origin, givesUp, ticks }) => {
              const stop = new AbortController();
              const entering = line.enter(origin, stop.signal);
              if (givesUp) queueMicrotask(() => stop.abort(new Error("gave up")));
              const leave = await entering.catch(() => undefined);
              if (!leave) return assert.ok(givesUp);
              inside[origin] += 1;
              assert.ok(inside[origin] <= perOrigin);
              for (let tick = 0; tick < ticks; tick += 1) await null;
              inside[origin] -= 1;
              leave();
            }),
          );
          assert.deepEqual([line.waiting("a"), line.waiting("b")], [0, 0]);
        },
      ),
    );
  });
});
