import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminJob, AdminScan } from "@lazaret/contract/admin";
import "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { activity } from "./activity.ts";
import { eventHub } from "./events.ts";
import { type Handover, handover, type OfOthers, ofOthers, type Seen } from "./handover.ts";

const none = { queued: 0, under_way: 0, retrying: 0, done: 0, dead: 0, oldest_seconds: 0 };
const work = { underWay: { requests: 2, jobs: 1 }, slots: { requests: 4, jobs: 2 } };

/** The first process, and another that hands over to it as it likes. */
function two(catchUp: (other: Handover) => void = () => {}): {
  first: ReturnType<typeof show> & OfOthers;
  other: Handover;
  sent: Seen[];
  broken: boolean;
} {
  const first = show();
  const sent: Seen[] = [];
  const both = {
    first,
    sent,
    broken: false,
    other: handover({
      process: 2,
      catchUp: () => catchUp(both.other),
      async send(seen) {
        sent.push(seen);
        if (both.broken) throw new Error("it is not there");
        return first.take(JSON.parse(JSON.stringify(seen)));
      },
    }),
  };
  return both;
}

function show() {
  const clock = { ms: 1_000_000 };
  const now = (): number => clock.ms;
  const seen = activity(now);
  const hub = eventHub({ now, counts: async () => none, jobsEveryMs: 1 });
  return { ...ofOthers({ activity: seen, hub, now }), activity: seen, hub, clock };
}

const scanOf = (id: number): AdminScan =>
  ({ id: `scan-${id}`, at: id, verdict: "clean", ms: 3 }) as unknown as AdminScan;
const jobOf = (id: string, state: AdminJob["state"]): AdminJob => ({ id, state }) as AdminJob;
const now = () => ({ work, failedActions: [["uploads", 3]] as [string, number][] });

test("what is still to be noted is handed over, too, at the latest at the end", async () => {
  let unnoted = 1;
  const { first, other } = two(({ activity }) => {
    for (; unnoted > 0; unnoted -= 1) activity.scanned({ verdict: "clean", ms: 5 });
  });
  {
    await using _ = other.start(now);
  }
  assert.equal(first.activity.show("15m", none).last_day.scanned, 1);
});

test("scans of another process are counted and shown as one's own; only the newest are sent one by one", async () => {
  const { first, other, sent } = two();
  first.activity.scanned({ verdict: "clean", ms: 5 });
  for (let count = 0; count < 1000; count += 1) {
    other.activity.scanned({ verdict: count % 10 === 0 ? "infected" : "clean", ms: 5 + (count % 3) / 10 });
    other.activity.noteScan(scanOf(count));
  }
  other.activity.failed();
  other.activity.failed();
  {
    await using _ = other.start(now);
    await until("it is handed over", () => sent.length > 0);
  }
  const { last_day, recent } = first.activity.show("15m", none);
  assert.deepEqual(last_day, { scanned: 1001, clean: 901, infected: 100, no: 0, p95_ms: last_day.p95_ms });
  assert.ok(Math.abs((last_day.p95_ms ?? 0) - 5) <= 2, `p95 is ${last_day.p95_ms}`);
  assert.equal(first.activity.errorsOfDay(), 2);
  assert.equal(recent.length, 200);
  assert.equal(recent[0]?.id, "scan-999");
  assert.ok((sent[0]?.scans.length ?? 0) <= 4, "scans are added up");
  assert.ok((sent[0]?.recent.length ?? 0) < 400);
  first.hub[Symbol.dispose]();
});

test("events are handed over while somebody listens, each job as it is then", async () => {
  const { first, other, sent } = two();
  const leave = new AbortController();
  const texts = first.hub.listen(undefined, leave.signal);
  let heard = "";
  const reading = (async () => {
    for await (const piece of texts) heard += piece;
  })();
  other.hub.publish({ type: "job", job: jobOf("a", "queued") });
  {
    await using _ = other.start(now);
    await until("it knows that somebody listens", () => other.hub.heard);
    for (const state of ["queued", "under_way", "done"] as const) {
      other.hub.publish({ type: "job", job: jobOf("b", state) });
    }
    for (let count = 0; count < 2000; count += 1)
      other.hub.publish({ type: "job", job: jobOf(`many-${count}`, "done") });
    other.activity.noteScan(scanOf(1));
    await until("all is heard", () => heard.includes('"many-498"') && heard.includes('"scan-1"'));
  }
  assert.match(heard, /"type":"reset"/, "what was missed before is to be read again");
  assert.equal(heard.split('"id":"b"').length, 2);
  assert.match(heard, /"id":"b","state":"done"/);
  assert.doesNotMatch(heard, /"id":"a"/);
  assert.ok(sent.every(({ events }) => events.length <= 500));
  leave.abort();
  await reading;
  first.hub[Symbol.dispose]();
});

test("who comes back after something happened elsewhere, unheard, is told to read everything again", async () => {
  const { first, other } = two();
  const began = async (since?: string): Promise<string> => {
    const leave = new AbortController();
    const [text] = await Array.fromAsync(first.hub.listen(since, leave.signal), (piece) => {
      leave.abort();
      return piece;
    });
    return text ?? "";
  };
  const id = /id: (\d+)/.exec(await began())?.[1];
  first.clock.ms += 120_000;
  assert.doesNotMatch(await began(id), /reset/);
  first.clock.ms += 120_000;
  other.hub.missed();
  await using started = other.start(now);
  await started[Symbol.asyncDispose]();
  assert.match(await began(id), /reset/);
  first.hub[Symbol.dispose]();
});

test("what cannot be handed over is dropped and kept from nobody; work of who is silent is forgotten", async () => {
  const both = two();
  const { first, other, sent } = both;
  both.broken = true;
  {
    await using _ = other.start(now);
    other.activity.scanned({ verdict: "clean", ms: 1 });
    await until("it is tried", () => sent.some(({ scans }) => scans.length > 0));
    both.broken = false;
    other.activity.scanned({ verdict: "infected", ms: 1 });
    await until("the next is there", () => first.activity.show("15m", none).last_day.infected === 1);
  }
  assert.equal(first.activity.show("15m", none).last_day.scanned, 1);
  assert.ok(
    sent.some(({ missed }) => missed),
    "the first is told that there was more",
  );
  assert.deepEqual(first.work(), [work]);
  assert.deepEqual(first.failedActions(), [new Map([["uploads", 3]])]);
  first.clock.ms += 20_000;
  assert.deepEqual([first.work(), first.failedActions()], [[], []]);
  first.hub[Symbol.dispose]();
});
