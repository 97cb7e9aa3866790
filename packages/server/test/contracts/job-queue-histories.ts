import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Job } from "../../src/model/job.ts";
import type { Settlement } from "../../src/model/settlement.ts";
import { type HeldShares, LEASE_SECONDS, type Lease, MAX_ATTEMPTS } from "../../src/queue/job-queue.ts";
import { type QueueModel, queueModel, type Seen } from "./queue-model.ts";
import { cleanReport, sampleJob } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

/** One thing that happens. Leases and jobs are chosen among all there ever were: the newest is 0. */
type Event =
  | { kind: "add"; tenant: number }
  | { kind: "take"; limit: number; shares?: HeldShares }
  | { kind: "extend" | "save" | "done" | "bury"; lease: number }
  | { kind: "again"; lease: number; afterSeconds: number }
  | { kind: "redrive" | "purge"; job: number }
  | { kind: "redrive-all" }
  | { kind: "crash" }
  /** Whoever takes them dies, over and over again. */
  | { kind: "storm" }
  | { kind: "advance"; seconds: number };

const TENANTS = ["default", "shop", "lab"] as const;
const shares: fc.Arbitrary<HeldShares> = fc
  .record({
    held: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)),
    perShare: fc.integer({ min: 1, max: 4 }),
    weights: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 })),
  })
  .map(({ held, perShare, weights }) => ({
    held: new Map(TENANTS.map((tenant, at) => [tenant, held[at] ?? 0])),
    perShare,
    weights: new Map(weights.map((weight, at) => [TENANTS[at] ?? "", weight])),
  }));

/** Mostly recent ones, which may have been lost just so. */
const lease = fc.oneof(fc.nat(2), fc.nat(12));
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("add" as const), tenant: fc.nat(2) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("take" as const), limit: fc.nat(3) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("take" as const), limit: fc.nat(6), shares }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constantFrom("extend", "save", "done", "bury"), lease }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("again" as const), lease, afterSeconds: fc.nat(15) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("redrive", "purge"), job: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.constantFrom<Event>({ kind: "redrive-all" }, { kind: "crash" }, { kind: "storm" }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("advance" as const), seconds: fc.nat(45) }) },
  // One lease time and a bit: whoever holds one loses it to the next who takes.
  { weight: 4, arbitrary: fc.constant<Event>({ kind: "advance", seconds: LEASE_SECONDS + 1 }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), seconds: fc.integer({ min: -1e5, max: 1e5 }) }),
  },
);

/** What is written while the clock is behind is due first, though the queue has seen a later time as that of the first job. */
const clockSetBack: Event[][] = [
  [
    { kind: "add", tenant: 0 },
    { kind: "take", limit: 0 },
    { kind: "advance", seconds: -1 },
    { kind: "add", tenant: 0 },
    { kind: "advance", seconds: 31 },
    { kind: "take", limit: 1 },
  ],
  [
    { kind: "add", tenant: 0 },
    { kind: "take", limit: 1 },
    { kind: "bury", lease: 0 },
    { kind: "add", tenant: 0 },
    { kind: "take", limit: 0 },
    { kind: "advance", seconds: -1 },
    { kind: "redrive-all" },
    { kind: "advance", seconds: 31 },
    { kind: "take", limit: 1 },
  ],
];

const thirds = (held: number): HeldShares => ({
  held: new Map([
    ["default", held],
    ["shop", 0],
    ["lab", 0],
  ]),
  perShare: 1,
  weights: new Map([
    ["default", 1],
    ["shop", 3],
  ]),
});

/** Turns by weight that are the same but for the last bit of their sums. */
const sumsOfThirds: Event[] = [
  { kind: "add", tenant: 1 },
  { kind: "take", limit: 1 },
  { kind: "add", tenant: 1 },
  { kind: "add", tenant: 0 },
  { kind: "add", tenant: 1 },
  { kind: "take", limit: 1, shares: thirds(1) },
  { kind: "take", limit: 1 },
  { kind: "add", tenant: 0 },
  { kind: "take", limit: 1, shares: thirds(0) },
  { kind: "storm" },
  { kind: "advance", seconds: 31 },
  { kind: "take", limit: 0 },
  { kind: "take", limit: 2, shares: thirds(0) },
  { kind: "advance", seconds: 31 },
  { kind: "redrive", job: 2 },
  { kind: "take", limit: 3 },
];

/**
 * Random histories, told to the queue and to the model side by side. After each event both agree on what was answered
 * and on where every job is: nothing acknowledged is ever lost or in two places, a lost lease never writes, and no job
 * is leased again before its lease ran out.
 */
export function jobQueueHistories(platform: Platform, runs: number): void {
  test(`${runs} random histories of ${platform.name} go as the model says`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60, size: "max" }), async (events) => {
        await using stores = await platform.make();
        const model = queueModel({ clock: { now: stores.now() }, lastWord: await lastWordOf(stores) });
        const history = play(stores, model);
        for (const each of events) await history(each);
      }),
      { numRuns: runs, examples: [...clockSetBack, sumsOfThirds].map((events) => [events]) },
    );
  });
}

/** In which order it takes shares that nothing tells apart. Nothing is left behind but that each was given a job. */
async function lastWordOf(stores: Stores): Promise<string[]> {
  const order: string[] = [];
  for (const tenant of TENANTS) await stores.queue.add(sampleJob({ tenant }));
  for (const _ of TENANTS) {
    const [lease] = await stores.queue.take(1);
    order.push(lease?.job.tenant ?? "");
    await lease?.settle({ kind: "done" });
  }
  return order;
}

function play(first: Stores, model: QueueModel): (event: Event) => Promise<void> {
  let stores = first;
  const jobs: Job[] = [];
  const leases: Lease[] = [];

  async function happen(event: Event): Promise<void> {
    switch (event.kind) {
      case "add": {
        const job = sampleJob({ tenant: TENANTS[event.tenant] ?? "" });
        jobs.push(job);
        await stores.queue.add(job);
        return model.add(job);
      }
      case "take": {
        const taken = await stores.queue.take(event.limit, event.shares);
        const expected = model.take(event.limit, event.shares);
        // In which order those of several shares are answered is the platform's business.
        const place = ({ job }: { job: Job }): number => expected.findIndex((each) => each.job.id === job.id);
        taken.sort((one, other) => place(one) - place(other));
        leases.push(...taken);
        return assert.deepEqual(
          taken.map(({ job, attempt }) => ({ job, attempt })),
          expected.map(({ job, attempt }) => ({ job, attempt })),
        );
      }
      case "redrive":
      case "purge": {
        const ids = [jobs.at(-1 - event.job)?.id ?? "no-such-job"];
        return assert.equal(await stores.deadLetters[event.kind](ids), model[event.kind](ids));
      }
      case "redrive-all":
        return assert.equal(await stores.deadLetters.redrive("all"), model.redrive("all"));
      case "crash":
        stores = await stores.another();
        return model.restart();
      case "storm":
        for (let round = 0; round <= MAX_ATTEMPTS; round += 1) {
          await happen({ kind: "advance", seconds: LEASE_SECONDS + 1 });
          await happen({ kind: "take", limit: 3 });
        }
        return;
      case "advance":
        await stores.advance(event.seconds);
        return model.advance(event.seconds * 1000);
      default: {
        const number = leases.length - 1 - event.lease;
        const chosen = leases[number];
        if (!chosen) return;
        assert.equal(await write(chosen, event), writeModel({ ...event, lease: number }, chosen.job));
      }
    }
  }

  function writeModel(event: LeaseEvent, job: Job): boolean {
    if (event.kind === "extend") return model.extend(event.lease);
    if (event.kind === "save") return model.save(event.lease, saved(job));
    return model.settle(event.lease, settlementOf(event, job));
  }

  return async (event) => {
    await happen(event);
    const { entries } = await stores.browser.list({ limit: 1000 });
    const seen = entries.map(({ id, state, attempts }): Seen => ({ id, state, attempts }));
    assert.deepEqual(byId(seen), byId(model.jobs()));
  };
}

type LeaseEvent = Extract<Event, { lease: number }>;

function write(chosen: Lease, event: LeaseEvent): Promise<boolean> {
  if (event.kind === "extend") return chosen.extend();
  if (event.kind === "save") return chosen.save(saved(chosen.job));
  return chosen.settle(settlementOf(event, chosen.job));
}

function saved(job: Job): Job {
  return { ...job, report: cleanReport, failedDownloads: job.failedDownloads + 1 };
}

function settlementOf(event: LeaseEvent, job: Job): Settlement {
  const later = { ...job, failedCallbacks: job.failedCallbacks + 1 };
  if (event.kind === "again") return { kind: "again", afterSeconds: event.afterSeconds, job: later };
  return event.kind === "done" ? { kind: "done" } : { kind: "buried", reason: "test", job: later };
}

function byId(seen: readonly Seen[]): Seen[] {
  return seen.toSorted((a, b) => a.id.localeCompare(b.id));
}
