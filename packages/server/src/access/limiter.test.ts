import assert from "node:assert/strict";
import { test } from "node:test";
import type { Limits } from "./access-store.ts";
import { type Limiter, limiter } from "./limiter.ts";

type Caller = Parameters<Limiter["request"]>[0];

const by = (limits: Limits, key = "web", tenant: Limits = {}): Caller => ({
  account: { tenant: "shop", key },
  limits,
  tenant: { limits: tenant },
});

interface Place {
  clock: { now: number; elapsed: number };
  used: Map<string, { accepted: number; bytes: number }>;
  jobs: number | undefined;
  reads: number;
  fails: boolean;
}

function place(): Place {
  return {
    clock: { now: Date.UTC(2026, 10, 30, 23), elapsed: 0 },
    used: new Map(),
    jobs: 0,
    reads: 0,
    fails: false,
  };
}

function at(shared: Place): Limiter {
  const read = <Value>(value: Value): Value => {
    shared.reads += 1;
    if (shared.fails) throw new Error("away");
    return value;
  };
  return limiter({
    count({ key }) {
      const { accepted, bytes } = shared.used.get(key) ?? { accepted: 0, bytes: 0 };
      shared.used.set(key, { accepted: accepted + 1, bytes });
    },
    usedThisMonth: async () => read(shared.used),
    jobsWaiting: async (_, upTo) => read(shared.jobs === undefined ? undefined : Math.min(shared.jobs, upTo)),
    now: () => shared.clock.now,
    elapsed: () => shared.clock.elapsed,
  });
}

/** How many of so many are let through. */
function passed(limits: Limiter, caller: Caller, count: number): number {
  let through = 0;
  for (let asked = 0; asked < count; asked += 1) through += limits.request(caller) ? 0 : 1;
  return through;
}

function exchange(...all: Limiter[]): void {
  const said = all.map((each, index) => [String(index), each.own()] as const);
  for (const [index, each] of all.entries()) {
    const others = said.filter(([process, text]) => process !== String(index) && text !== undefined);
    each.heard(new Map(others as [string, string][]));
  }
}

async function codeOf(limits: Limiter, caller: Caller, work: "job" | "scan" = "scan"): Promise<string> {
  const begun = await limits.begin(caller, work);
  if (begun.kind === "refused") return begun.limit;
  limits.accepted(caller.account, work);
  begun.end();
  return "accepted";
}

test("who has no limits is not asked about any", () => {
  const limits = at(place());
  assert.equal(limits.limits(by({})), false);
  for (const caller of [by({ largestFile: 1 }), by({}, "web", { jobsWaiting: 0 })]) assert.ok(limits.limits(caller));
  assert.equal(limits.own(), undefined);
});

test("what is refused by one of two limits is not taken from the other", () => {
  const limits = at(place());
  const both = by({ requestsPerSecond: 2 }, "web", { requestsPerSecond: 4 });
  assert.equal(passed(limits, both, 10), 2);
  assert.equal(passed(limits, by({}, "mobile", { requestsPerSecond: 4 }), 10), 2);
});

test("of two rates that refuse, the one is told that refuses for longer", () => {
  const limits = at(place());
  const caller = by({ requestsPerSecond: 10 }, "web", { requestsPerSecond: 1 });
  assert.equal(passed(limits, caller, 1), 1);
  assert.equal(passed(limits, by({ requestsPerSecond: 10 }), 20), 9);
  const told = limits.request(caller);
  assert.deepEqual([told?.whose, told?.afterSeconds], ["tenant", 1]);
});

test("processes that each let too many through pay for it: over time all together keep to the rate", () => {
  for (const processes of [2, 3, 6]) {
    const shared = place();
    const all = Array.from({ length: processes }, () => at(shared));
    const caller = by({ requestsPerSecond: 10 });
    let through = 0;
    const seconds = 120;
    for (let step = 0; step < seconds * 10; step += 1) {
      shared.clock.elapsed = step * 100;
      for (const each of all) through += passed(each, caller, 5);
      if (step % 20 === 0) exchange(...all);
    }
    // One burst and two exchanges, of each, before they know of each other.
    const late = 10 * (1 + 4) * processes;
    assert.ok(through <= 10 * seconds + late, `${through} by ${processes}`);
    assert.ok(through >= 10 * seconds * 0.8, `${through} by ${processes}`);
  }
});

test("a process that begins, or begins anew, owes nothing for what others did long before", () => {
  const shared = place();
  const [one, other] = [at(shared), at(shared)];
  const caller = by({ requestsPerSecond: 10 });
  for (let second = 0; second < 100; second += 1) {
    shared.clock.elapsed += 1000;
    assert.equal(passed(one, caller, 5), 5);
  }
  assert.equal(passed(other, caller, 1), 1);
  exchange(one, other);
  assert.equal(passed(other, caller, 20), 9);
  // Both forget what is not asked for.
  shared.clock.elapsed += 120_000;
  exchange(one, other);
  assert.deepEqual([one.own(), other.own()], [undefined, undefined]);
  assert.equal(passed(other, caller, 20), 10);
});

test("of processes that keep to the rate together none is refused, however many they are", () => {
  for (const processes of [2, 3, 10]) {
    const shared = place();
    const caller = by({ requestsPerSecond: 100 });
    const all = Array.from({ length: processes }, () => at(shared));
    const said = new Map<number, string>();
    for (let step = 0; step < 3000; step += 1) {
      shared.clock.elapsed = step * 10;
      for (const [index, each] of all.entries()) {
        // All together 9 in 10 steps, of 10 ms each.
        if (((step + index * 7) * 9) % (10 * processes) < 9)
          assert.equal(passed(each, caller, 1), 1, `${step} of ${index}`);
        if ((step + index * 13) % 200 > 0) continue;
        const own = each.own();
        if (own !== undefined) said.set(index, own);
        each.heard(new Map([...said].filter(([other]) => other !== index).map(([other, text]) => [`${other}`, text])));
      }
    }
  }
});

test("what a process did while nobody heard of it is owed by nobody", () => {
  const shared = place();
  const [one, other] = [at(shared), at(shared)];
  const caller = by({ requestsPerSecond: 10 });
  const run = (seconds: number, each: () => void): void => {
    for (let second = 0; second < seconds; second += 1) {
      shared.clock.elapsed += 1000;
      for (const limits of [one, other]) assert.equal(passed(limits, caller, 4), 4);
      if (second % 2 === 0) each();
    }
  };
  run(60, () => exchange(one, other));
  // The other cannot reach the store, and is forgotten there.
  run(20, () => one.heard(new Map()));
  run(20, () => exchange(one, other));
  // Nobody can, and whoever is first afterwards finds nothing.
  run(60, () => {});
  one.heard(new Map());
  run(20, () => exchange(one, other));
});

test("scans elsewhere count until they end, or until their process is heard of no more", async () => {
  const shared = place();
  const [one, other] = [at(shared), at(shared)];
  const caller = by({ scansAtOnce: 2 });
  const first = await one.begin(caller, "scan");
  assert.equal((await one.begin(caller, "scan")).kind, "begun");
  assert.equal(await codeOf(other, caller), "accepted");
  exchange(one, other);
  assert.equal(await codeOf(other, caller), "scans_at_once");
  assert.equal(await codeOf(other, caller, "job"), "accepted", "jobs wait for their turn elsewhere");
  if (first.kind === "begun") first.end();
  exchange(one, other);
  assert.equal(await codeOf(other, caller), "accepted");
  other.heard(new Map());
  assert.equal(await codeOf(other, caller), "accepted");
});

test("a month's files begin anew with the month, and a clock that is set back finds the month before", async () => {
  const shared = place();
  const limits = at(shared);
  const caller = by({ filesPerMonth: 2 });
  for (const expected of ["accepted", "accepted", "monthly_files"])
    assert.equal(await codeOf(limits, caller), expected);
  const refused = await limits.begin(caller, "job");
  assert.ok(refused.kind === "refused" && refused.afterSeconds === 3600);
  const november = shared.used;
  shared.clock.now += 3_600_000;
  shared.used = new Map();
  assert.equal(await codeOf(limits, caller), "accepted");
  shared.clock.now -= 3_600_000;
  shared.used = november;
  assert.equal(await codeOf(limits, caller), "monthly_files");
});

test("many at once are let through up to the limit, by one reading", async () => {
  for (const [limit, work] of [
    [{ filesPerMonth: 7 }, "scan"],
    [{ filesPerMonth: 7 }, "job"],
    [{ jobsWaiting: 7 }, "job"],
    [{ scansAtOnce: 7 }, "scan"],
  ] as const) {
    const shared = place();
    const limits = at(shared);
    const all = await Promise.all(Array.from({ length: 50 }, () => limits.begin(by(limit), work)));
    assert.equal(all.filter(({ kind }) => kind === "begun").length, 7, JSON.stringify(limit));
    assert.ok(shared.reads <= 1);
  }
});

test("what was begun and not accepted is given back", async () => {
  const limits = at(place());
  const caller = by({ filesPerMonth: 1 });
  for (let count = 0; count < 5; count += 1) {
    const begun = await limits.begin(caller, "job");
    assert.ok(begun.kind === "begun");
    begun.end();
  }
});

test("a line of jobs is counted again after a second, or when the limit is another", async () => {
  const shared = place();
  const limits = at(shared);
  shared.jobs = 100;
  assert.equal(await codeOf(limits, by({ jobsWaiting: 10 }), "job"), "jobs_waiting");
  assert.equal(await codeOf(limits, by({ jobsWaiting: 50 }), "job"), "jobs_waiting");
  for (const expected of ["accepted", "accepted", "jobs_waiting"])
    assert.equal(await codeOf(limits, by({ jobsWaiting: 102 }), "job"), expected, "with those added since");
  shared.jobs = 0;
  assert.equal(await codeOf(limits, by({ jobsWaiting: 10 }), "job"), "jobs_waiting");
  shared.clock.elapsed += 1000;
  assert.equal(await codeOf(limits, by({ jobsWaiting: 10 }), "job"), "accepted");
  shared.jobs = undefined;
  shared.clock.elapsed += 1000;
  assert.equal(await codeOf(limits, by({ jobsWaiting: 0 }), "job"), "accepted", "nobody can count them");
});

test("a line that is being counted for who may have fewer is counted again for who may have more", async () => {
  const shared = place();
  const limits = at(shared);
  shared.jobs = 100;
  const [few, many] = [by({ jobsWaiting: 10 }), by({ jobsWaiting: 50 }, "batch")];
  assert.deepEqual(await Promise.all([codeOf(limits, few, "job"), codeOf(limits, many, "job")]), [
    "jobs_waiting",
    "jobs_waiting",
  ]);
});

test("a store that hangs holds nobody up for long", async () => {
  const shared = place();
  const caller = by({ filesPerMonth: 2 });
  let hangs = false;
  const limits = limiter({
    count: () => {},
    usedThisMonth: () => (hangs ? new Promise(() => {}) : Promise.resolve(new Map())),
    jobsWaiting: async () => 0,
    now: () => shared.clock.now,
    elapsed: () => shared.clock.elapsed,
  });
  assert.equal(await codeOf(limits, caller), "accepted");
  hangs = true;
  shared.clock.elapsed += 2000;
  assert.equal(await codeOf(limits, caller), "accepted");
  shared.clock.elapsed += 2000;
  for (let asked = 0; asked < 20; asked += 1) assert.equal(await codeOf(limits, caller), "monthly_files");
});

test("while use cannot be read, what was known holds", async () => {
  const shared = place();
  const limits = at(shared);
  const caller = by({ filesPerMonth: 1 });
  shared.fails = true;
  assert.equal(await codeOf(limits, caller), "accepted", "nothing is known");
  shared.fails = false;
  shared.clock.elapsed += 2000;
  assert.equal(await codeOf(limits, caller), "monthly_files");
  shared.fails = true;
  shared.clock.elapsed += 2000;
  assert.equal(await codeOf(limits, caller), "monthly_files");
});

test("of 10,000 keys others hear of those asked for last, and all are forgotten in time", () => {
  const shared = place();
  const limits = at(shared);
  for (let key = 0; key < 10_000; key += 1)
    limits.request(by({ requestsPerSecond: 1 }, `key-${"x".repeat(50)}-${key}`));
  const said = limits.own() ?? "";
  assert.ok(said.includes("-9999") && said.length < 380_000, `${said.length}`);
  shared.clock.elapsed += 61_000;
  assert.equal(limits.own(), undefined);
});
