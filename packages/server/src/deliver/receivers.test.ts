import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Busy } from "../model/faults.ts";
import { type ReceiversOptions, receivers } from "./receivers.ts";

const never = new AbortController().signal;
const NO_HANGING = { hangsAfterMs: 600_000 };

function two(options: Partial<ReceiversOptions> = {}) {
  return receivers({ posts: 2, longestLine: 3, ...NO_HANGING, ...options });
}

/** POSTs to this receiver end so, one after the other. */
async function posted(places: ReturnType<typeof two>, origin: string, outcomes: readonly boolean[]): Promise<void> {
  for (const delivered of outcomes) {
    using visit = places.visit(origin, "mine");
    const place = await visit.enter(never);
    place.ended(delivered);
    place.leave();
  }
}

describe("the places of a receiver", () => {
  it("let so many POSTs through at once, and the others in the order they came", async () => {
    const places = two();
    const visits = Array.from({ length: 4 }, () => places.visit("a", "mine"));
    const [first, second] = await Promise.all(visits.slice(0, 2).map((visit) => visit.enter(never)));
    const order: number[] = [];
    const later = visits.slice(2).map(async (visit, index) => {
      const place = await visit.enter(never);
      order.push(index);
      return place;
    });
    await new Promise(setImmediate);
    assert.deepEqual(order, []);
    second?.leave();
    second?.leave();
    (await later[0])?.leave();
    (await later[1])?.leave();
    first?.leave();
    assert.deepEqual(order, [0, 1]);
  });

  it("are nothing to other receivers, and neither is its line", async () => {
    const places = two();
    for (let count = 0; count < 5; count += 1) void places.visit("dead", "mine").enter(never);
    assert.throws(() => places.visit("dead", "mine"), Busy);
    using visit = places.visit("alive", "mine");
    (await visit.enter(never)).leave();
  });

  it("stay taken when somebody leaves twice after the receiver was forgotten", async () => {
    const places = two({ posts: 1, longestLine: 0 });
    const before = places.visit("a", "mine");
    const place = await before.enter(never);
    place.leave();
    before[Symbol.dispose]();
    places.visit("a", "mine");
    place.leave();
    assert.throws(() => places.visit("a", "mine"), Busy);
  });

  it("can be given up while waiting, and nobody is kept out by that", async () => {
    const places = two({ posts: 1 });
    const place = await places.visit("a", "mine").enter(never);
    const stop = new AbortController();
    const waiting = places.visit("a", "mine").enter(stop.signal);
    const next = places.visit("a", "mine").enter(never);
    stop.abort(new Error("no longer needed"));
    await assert.rejects(waiting, /no longer needed/);
    await assert.rejects(places.visit("a", "mine").enter(stop.signal), /no longer needed/);
    place.leave();
    (await next).leave();
  });

  it("are few for a receiver in trouble, until one POST gets through", async () => {
    const told: [string, boolean][] = [];
    const places = two({ posts: 8, longestLine: 32, onTrouble: (origin, trouble) => told.push([origin, trouble]) });
    await posted(places, "a", [false, false, true, false, false]);
    assert.deepEqual(told, []);
    await posted(places, "a", [false]);
    assert.deepEqual(told, [["a", true]]);
    const visits = Array.from({ length: 4 }, () => places.visit("a", "mine"));
    assert.throws(() => places.visit("a", "mine"), Busy);
    const place = await visits[0]?.enter(never);
    place?.ended(true);
    place?.leave();
    assert.deepEqual(told, [
      ["a", true],
      ["a", false],
    ]);
    for (let count = 0; count < 36; count += 1) places.visit("a", "mine");
  });

  it("send those in line away when the receiver hangs, except who is at a later POST already", async () => {
    const places = two({ posts: 3, longestLine: 5, hangsAfterMs: 20 });
    const retrying = places.visit("a", "mine");
    (await retrying.enter(never)).leave();
    const hanging = await Promise.all(Array.from({ length: 3 }, () => places.visit("a", "mine").enter(never)));
    let retried = false;
    const later = retrying.enter(never).then((place) => {
      retried = true;
      place.leave();
    });
    const waiting = Array.from({ length: 3 }, () => places.visit("a", "mine").enter(never));
    for (const each of waiting) await assert.rejects(each, Busy);
    assert.equal(retried, false);
    hanging[0]?.ended(false);
    hanging[0]?.leave();
    await later;
  });

  it("of one share leaves room for others who call the same receiver, and their POST is next", async () => {
    const places = two({ posts: 1, longestLine: 3 });
    const place = await places.visit("gateway", "many").enter(never);
    const order: string[] = [];
    const enter = (share: string): void =>
      void places
        .visit("gateway", share)
        .enter(never)
        .then((entered) => {
          order.push(share);
          entered.leave();
        });
    for (let count = 0; count < 3; count += 1) enter("many");
    assert.throws(() => places.visit("gateway", "many"), Busy);
    enter("single");
    assert.throws(() => places.visit("gateway", "third"), Busy);
    place.leave();
    await new Promise(setImmediate);
    assert.deepEqual(order.toSorted(), ["many", "many", "many", "single"]);
    assert.ok(order.indexOf("single") <= 1, `${order}`);
  });

  it("of all receivers in trouble together are half of those of a share, and other shares have their own", async () => {
    const places = two({ posts: 8, longestLine: 32 });
    const origins = Array.from({ length: 70 }, (_, index) => `receiver ${index}`);
    for (const origin of origins) await posted(places, origin, [false, false, false]);
    let visits = 0;
    for (const origin of origins) {
      for (let count = 0; count < 4; count += 1) {
        try {
          places.visit(origin, "mine");
          visits += 1;
        } catch (error) {
          assert.ok(error instanceof Busy);
        }
      }
    }
    assert.equal(visits, 250);
    places.visit("healthy", "mine");
    places.visit(origins[69] ?? "", "another");
  });

  it("never let more through than allowed, and always let everybody in, whoever gives up", async () => {
    const visit = fc.record({ origin: fc.constantFrom("a", "b"), givesUp: fc.boolean(), ticks: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(visit, { maxLength: 30 }), async (posts, visits) => {
        const places = receivers({ posts, longestLine: Number.POSITIVE_INFINITY, ...NO_HANGING });
        const inside = { a: 0, b: 0 };
        await Promise.all(
          visits.map(async ({ origin, givesUp, ticks }) => {
            const stop = new AbortController();
            using visiting = places.visit(origin, "mine");
            const entering = visiting.enter(stop.signal);
            if (givesUp) queueMicrotask(() => stop.abort(new Error("gave up")));
            const place = await entering.catch(() => undefined);
            if (!place) return assert.ok(givesUp);
            inside[origin] += 1;
            assert.ok(inside[origin] <= posts);
            for (let tick = 0; tick < ticks; tick += 1) await null;
            inside[origin] -= 1;
            place.leave();
          }),
        );
      }),
    );
  });
});
