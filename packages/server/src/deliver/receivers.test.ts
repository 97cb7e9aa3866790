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

/** A crowd that comes at once to a receiver that takes `postMs` for each POST: when the last is done, and how often any was sent away. */
async function delivered(crowd: number, postMs: number): Promise<{ endedAt: number; sentAway: number }> {
  let ms = 0;
  let sentAway = 0;
  const places = receivers({ posts: 8, longestLine: 32, now: () => ms, ...NO_HANGING });
  const events: { at: number; happen(): void }[] = [];
  const at = (when: number, happen: () => void): void => void events.push({ at: when, happen });

  function come(): void {
    try {
      const visit = places.visit("a", "mine");
      void visit.enter(never).then((place) =>
        at(ms + postMs, () => {
          place.ended(true);
          place.leave();
          visit[Symbol.dispose]();
        }),
      );
    } catch (error) {
      assert.ok(error instanceof Busy && error.backInSeconds !== undefined);
      sentAway += 1;
      at(ms + error.backInSeconds * 1000, come);
    }
  }

  for (let count = 0; count < crowd; count += 1) come();
  for (;;) {
    await new Promise(setImmediate);
    events.sort((one, other) => one.at - other.at);
    const next = events.shift();
    if (!next) return { endedAt: ms, sentAway };
    ms = next.at;
    next.happen();
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

  describe("that are all taken", () => {
    /** When somebody of this share is told to come back; the receiver has no room for it. */
    const backIn = (places: ReturnType<typeof two>, share: string): number | undefined => {
      try {
        places.visit("a", share);
      } catch (error) {
        assert.ok(error instanceof Busy);
        return error.backInSeconds;
      }
      return assert.fail("there was room");
    };

    /** Two shares have all there is. */
    const fill = (places: ReturnType<typeof two>) =>
      ["mine", "mine", "mine", "mine", "mine", "yours", "yours"].map((share) => places.visit("a", share));

    it("have those who come later come back one after the other, as fast as the receiver answers", async () => {
      let ms = 0.1;
      const places = two({ now: () => ms });
      const visits = Array.from({ length: 5 }, () => places.visit("a", "mine"));
      const twice = (): unknown[] => [backIn(places, "mine"), backIn(places, "mine")];
      assert.deepEqual(twice(), [0.1, 0.2], "not known: 200 ms for a POST");
      const [first, second] = await Promise.all(visits.slice(0, 2).map((visit) => visit.enter(never)));
      ms += 400;
      first?.leave();
      first?.leave();
      assert.deepEqual(twice(), [0.2, 0.4], "400 ms for two POSTs");
      ms += 1600;
      second?.leave();
      assert.deepEqual(twice(), [0.6, 1.2], "400 and 2000 ms for two POSTs; the others have come");
      for (let count = 0; count < 6; count += 1) (await visits[2]?.enter(never))?.leave();
      ms += 3000;
      (await visits[2]?.enter(never))?.leave();
      assert.equal(backIn(places, "mine"), 0.2, "the latest are not all there is: about 270 ms");
      for (let count = 0; count < 500; count += 1) {
        ms += 0.37;
        assert.ok((backIn(places, "mine") ?? 16) <= 15);
      }
      assert.equal(backIn(places, "mine"), 15, "at the latest");
      ms += 15_000;
      (await visits[2]?.enter(never))?.leave();
      assert.equal(backIn(places, "mine"), 0.2, "all of them have come");
    });

    it("are not promised sooner than they are left, however short the POSTs before were", async () => {
      let ms = 0;
      const places = two({ now: () => ms });
      const visits = Array.from({ length: 5 }, () => places.visit("a", "mine"));
      (await visits[0]?.enter(never))?.leave();
      assert.equal(backIn(places, "mine"), 0.1);
      ms += 3000;
      assert.equal(backIn(places, "mine"), 1.5, "no POST has ended for 3 s");
      (await visits[0]?.enter(never))?.leave();
      for (const visit of visits.splice(0, 2)) visit[Symbol.dispose]();
      for (let count = 0; count < 2; count += 1) places.visit("a", "mine");
      ms += 2000;
      (await visits[0]?.enter(never))?.leave();
      assert.equal(backIn(places, "mine"), 0.6, "a visit takes 3 s, most of it between its POSTs, and there are five");
    });

    it("are promised as soon as ever after a time in which nobody came, also where the last POST failed", async () => {
      let ms = 0;
      const places = two({ now: () => ms });
      await posted(places, "a", [false]);
      ms += 3_600_000;
      for (let count = 0; count < 5; count += 1) places.visit("a", "mine");
      assert.equal(backIn(places, "mine"), 0.1);
    });

    it("are promised in a moment by a receiver that takes no time at all", async () => {
      const places = two({ now: () => 7 });
      for (let count = 0; count < 4; count += 1) places.visit("a", "mine");
      await posted(places, "a", [true]);
      places.visit("a", "mine");
      assert.equal(backIn(places, "mine"), 0.1);
    });

    it("are for those who wait, not for those who came once and were served elsewhere", async () => {
      let ms = 0;
      const places = two({ now: () => ms });
      const visits = fill(places);
      for (let count = 0; count < 50; count += 1) backIn(places, `other ${count}`);
      assert.equal(backIn(places, "mine"), 5.2, "100 ms for each of 52");
      ms += 20_000;
      (await visits[0]?.enter(never))?.leave();
      assert.equal(backIn(places, "mine"), 0.1, "40 ms for each of two");
      assert.deepEqual([backIn(places, "third"), backIn(places, "third")], [0.2, 0.3], "and of three");
    });

    it("have each share come back for itself, and more slowly the more there are", async () => {
      const places = two({ now: () => 0 });
      for (let count = 0; count < 5; count += 1) places.visit("a", "mine");
      for (let count = 0; count < 20; count += 1) backIn(places, "mine");
      for (let count = 0; count < 2; count += 1) places.visit("a", "yours");
      assert.deepEqual([backIn(places, "yours"), backIn(places, "yours")], [0.2, 0.4]);
      assert.equal(backIn(places, "third"), 0.3);
    });

    it("count for those who are there, not for those who were", async () => {
      let ms = 0;
      const places = two({ now: () => ms });
      const visits = fill(places);
      backIn(places, "third");
      const place = await visits[0]?.enter(never);
      ms += 400;
      place?.ended(false);
      place?.leave();
      for (const visit of visits) visit[Symbol.dispose]();
      for (let count = 0; count < 5; count += 1) places.visit("a", "mine");
      assert.equal(backIn(places, "mine"), 0.2, "one share");
    });

    it("of a receiver in trouble are not promised to anybody", async () => {
      const places = two();
      await posted(places, "a", [false, false, false]);
      for (let count = 0; count < 4; count += 1) places.visit("a", "mine");
      assert.equal(backIn(places, "mine"), undefined);
    });

    it("are not left empty by a crowd that comes back, which comes back few times", async () => {
      const [crowds, postsMs] = [fc.integer({ min: 41, max: 700 }), fc.integer({ min: 1, max: 900 })];
      await fc.assert(
        fc.asyncProperty(crowds, postsMs, async (crowd, postMs) => {
          const { endedAt, sentAway } = await delivered(crowd, postMs);
          // All come before it is known how long a POST takes.
          const [atBest, asTold] = [postMs, 200].map((ms) => Math.ceil(crowd / 8) * ms) as [number, number];
          assert.ok(endedAt <= Math.max(atBest, asTold) * 1.2 + 500, `${endedAt} ms, ${atBest} at best`);
          assert.ok(sentAway <= crowd * (2 + atBest / 15_000), `${sentAway} times sent away`);
        }),
        { numRuns: 20 },
      );
    });
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
