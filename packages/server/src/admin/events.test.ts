import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminEvent, AdminTask } from "@lazaret/contract/admin";
import { until } from "../../test/support/until.ts";
import { type EventHub, eventHub } from "./events.ts";

const counts = { queued: 1, under_way: 0, retrying: 0, done: 0, dead: 0, oldest_seconds: 0 };

function made(more: Partial<Parameters<typeof eventHub>[0]> = {}): { hub: EventHub; clock: { now: number } } {
  const clock = { now: 1_790_000_000_000 };
  return { hub: eventHub({ now: () => clock.now, counts: async () => counts, ...more }), clock };
}

function task(on: string): AdminEvent {
  const done: AdminTask = { id: on, what: "delete", on, started_at: 0, done: 0, failed: 0 };
  return { type: "task", task: done };
}

function job(id: string, attempts: number): AdminEvent {
  const shared = { submitted_at: 0, tenant: "default", failed_callbacks: 0, source: { kind: "upload" } } as const;
  return { type: "job", job: { id, state: "under_way", attempts, ...shared } };
}

interface Heard {
  text(): string;
  events(): AdminEvent[];
  lastId(): string;
  over(): boolean;
  stop(): Promise<void>;
}

function heard(hub: EventHub, lastId?: string, key = "somebody"): Heard {
  const stop = new AbortController();
  let text = "";
  let over = false;
  const reading = (async () => {
    for await (const piece of hub.listen(lastId, stop.signal, key)) text += piece;
    over = true;
  })();
  return {
    text: () => text,
    events: () => [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as AdminEvent),
    lastId: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "",
    over: () => over,
    async stop() {
      stop.abort();
      await reading;
    },
  };
}

const namesOf = (events: readonly AdminEvent[]): string[] =>
  events.map((event) => (event.type === "task" ? event.task.on : event.type));

test("a stream that nobody began to read has no place when it is ended", async () => {
  const { hub } = made();
  for (let count = 0; count < 101; count += 1) {
    const texts = hub.listen(undefined, new AbortController().signal);
    await texts[Symbol.asyncIterator]().return?.();
  }
  hub[Symbol.dispose]();
});

test("who listens hears what happens from then on, in order", async () => {
  const { hub } = made();
  const one = heard(hub);
  await until("it listens", () => one.lastId() !== "");
  for (const name of ["a", "b", "c"]) hub.publish(task(name));
  await until("all came", () => one.events().length === 3);
  assert.deepEqual(namesOf(one.events()), ["a", "b", "c"]);
  await one.stop();
  hub[Symbol.dispose]();
});

test("who comes back hears what was missed, and who was away too long reads everything again", async () => {
  const { hub, clock } = made();
  const one = heard(hub);
  await until("it listens", () => one.lastId() !== "");
  hub.publish(task("a"));
  await until("it came", () => one.events().length === 1);
  const last = one.lastId();
  await one.stop();
  hub.publish(task("b"));
  hub.publish(task("c"));
  const back = heard(hub, last);
  await until("both came", () => back.events().length === 2);
  assert.deepEqual(namesOf(back.events()), ["b", "c"]);
  await back.stop();

  for (const wrong of ["1", "9007199254740991", "abc", "-1"]) {
    const stranger = heard(hub, wrong);
    await until("it is told", () => stranger.events().length > 0);
    assert.deepEqual(namesOf(stranger.events()), ["reset"], wrong);
    await stranger.stop();
  }

  clock.now += 3_600_000;
  hub.publish(task("while nobody listened"));
  const late = heard(hub, back.lastId());
  await until("it is told", () => late.events().length > 0);
  assert.deepEqual(namesOf(late.events()), ["reset"]);
  await late.stop();
  hub[Symbol.dispose]();
});

test("more than a thousand events are not kept", async () => {
  const { hub } = made();
  const one = heard(hub);
  await until("it listens", () => one.lastId() !== "");
  hub.publish(task("first"));
  await until("it came", () => one.events().length === 1);
  const last = one.lastId();
  for (let number = 0; number < 1000; number += 1) hub.publish(task(String(number)));
  const all = heard(hub, last);
  await until("all came", () => all.events().length === 1000);
  hub.publish(task("one more"));
  const tooLate = heard(hub, last);
  await until("it is told", () => tooLate.events().length > 0);
  assert.deepEqual(namesOf(tooLate.events()), ["reset"]);
  for (const each of [one, all, tooLate]) await each.stop();
  hub[Symbol.dispose]();
});

test("of a job that changes often only its latest state is told", async () => {
  const { hub } = made({ jobsEveryMs: 20 });
  const one = heard(hub);
  await until("it listens", () => one.lastId() !== "");
  for (let attempts = 1; attempts <= 100; attempts += 1) hub.publish(job("same", attempts));
  hub.publish(job("other", 1));
  await until("both came", () => one.events().length >= 2);
  const jobs = one.events().flatMap((event) => (event.type === "job" ? [[event.job.id, event.job.attempts]] : []));
  assert.deepEqual(jobs, [
    ["same", 100],
    ["other", 1],
  ]);
  await one.stop();
  hub[Symbol.dispose]();
});

test("who does not read is dropped, a burst drops nobody, and the others go on", async () => {
  const { hub } = made();
  const stop = new AbortController();
  const slow = hub.listen(undefined, stop.signal)[Symbol.asyncIterator]();
  await slow.next();
  const quick = heard(hub);
  await until("it listens", () => quick.lastId() !== "");
  const large = "x".repeat(50_000);
  for (let number = 0; number < 30; number += 1) hub.publish(task(large));
  await until("all came", () => quick.events().length === 30);
  for (let number = 0; number < 30; number += 1) hub.publish(task(large));
  await until("all came", () => quick.events().length === 60);
  assert.deepEqual(await slow.next(), { done: true, value: undefined });
  assert.equal(quick.over(), false);
  await quick.stop();
  hub[Symbol.dispose]();
});

const tooMany = (hub: EventHub, key: string): void =>
  assert.throws(() => hub.listen(undefined, new AbortController().signal, key), {
    status: 429,
    code: "too_many_streams",
  });

test("ten may listen with one key, a hundred in all, and one that ends makes way", async () => {
  const { hub } = made();
  const ofOne = Array.from({ length: 10 }, () => heard(hub, undefined, "one"));
  tooMany(hub, "one");
  await ofOne.shift()?.stop();
  const again = heard(hub, undefined, "one");
  await until("it listens", () => again.lastId() !== "");
  tooMany(hub, "one");
  for (const each of [...ofOne, again]) await each.stop();
  const all = Array.from({ length: 100 }, (_, number) => heard(hub, undefined, `key-${number}`));
  tooMany(hub, "another");
  await all[0]?.stop();
  const next = heard(hub, undefined, "another");
  await until("it listens", () => next.lastId() !== "");
  for (const each of [...all.slice(1), next]) await each.stop();
  hub[Symbol.dispose]();
});

test("where all streams are taken, a key with few of them takes the oldest of the key with the most", async () => {
  const { hub } = made();
  const taken = Array.from({ length: 100 }, (_, number) => heard(hub, undefined, `viewer-${number % 10}`));
  const own = [heard(hub, undefined, "admin"), heard(hub, undefined, "admin")];
  await until("both listen", () => own.every((each) => each.lastId() !== ""));
  await until("two others have ended", () => taken.filter((each) => each.over()).length === 2);
  assert.ok(taken[0]?.over() && taken[1]?.over(), "the oldest of two keys");
  // The others are not displaced for more than a fair share.
  const more = Array.from({ length: 7 }, () => heard(hub, undefined, "admin"));
  await until("all listen", () => more.every((each) => each.lastId() !== ""));
  tooMany(hub, "admin");
  assert.equal(taken.filter((each) => each.over()).length, 9);
  tooMany(hub, "viewer-0");
  for (const each of [...taken, ...own, ...more]) await each.stop();
  hub[Symbol.dispose]();
});

test("pings and counts come while somebody listens, and the end of the process ends all streams", async () => {
  let asked = 0;
  const asking = async (): Promise<typeof counts> => {
    asked += 1;
    return { ...counts, done: asked };
  };
  const { hub } = made({ pingEveryMs: 5, countsEveryMs: 5, counts: asking });
  const one = heard(hub);
  await until("both came", () => one.text().includes(": ping") && namesOf(one.events()).includes("counts"));
  hub[Symbol.dispose]();
  await until("it is over", () => one.over());
  const before = asked;
  await one.stop();
  assert.equal(asked, before);
});

test("while nobody listens nothing is asked for", () => {
  const { hub } = made({ counts: () => assert.fail("nobody listens") });
  assert.equal(hub.heard, false);
  hub.publish(task("unheard"));
  hub[Symbol.dispose]();
});
