import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { until } from "../../../../test/support/until.ts";
import { log } from "../../../log.ts";
import { openJobStore } from "../../embedded/job-store.ts";
import type { Outbox } from "./outbox.ts";
import type { Sender, SendOutcome } from "./sender.ts";
import { lane, startSending, waitSeconds } from "./sending.ts";
import type { Receiver } from "./subscriptions.ts";

const patient = { limitMs: 60_000 };
const receiver: Receiver = { id: "a", protocol: "file", endpoint: "x", shownEndpoint: "x" };

/** Sends when it is told to. */
function toldSender(atOnce: number): Sender & { waiting: ((outcome: SendOutcome) => void)[]; most: number } {
  const told = {
    atOnce,
    most: 0,
    waiting: [] as ((outcome: SendOutcome) => void)[],
    send: () =>
      new Promise<SendOutcome>((resolve) => {
        told.waiting.push(resolve);
        told.most = Math.max(told.most, told.waiting.length);
      }),
    close: async () => {},
  };
  return told;
}

/** An outbox on disk with so many messages, and what sends them. */
async function started(sender: Sender, count: number, change: (outbox: Outbox) => Outbox = (outbox) => outbox) {
  const folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const store = await openJobStore(folder.path, { now: () => clock.now });
  await store.outbox.add(Array.from({ length: count }, (_, index) => ({ id: `${index}`, receiver: "a", body: "{}" })));
  const lines: Record<string, unknown>[] = [];
  const sending = startSending({
    outbox: change(store.outbox),
    receivers: [receiver],
    senderFor: () => sender,
    log: log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) }),
    now: () => clock.now,
    random: () => 0,
  });
  return {
    ...store,
    clock,
    lines,
    sending,
    async [Symbol.asyncDispose]() {
      await sending.stop(0);
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}

test("so many messages are under way to one receiver as its sender allows, and never more", async () => {
  const sender = toldSender(3);
  await using run = await started(sender, 20);
  for (let left = 20; left > 0; left -= 1) {
    await until("as many as may are under way", () => sender.waiting.length === Math.min(3, left), patient);
    sender.waiting.shift()?.({ kind: "sent" });
  }
  await until("all are logged", () => run.lines.length === 20, patient);
  assert.equal(sender.most, 3);
  assert.equal((await run.outbox.counts())[0]?.sent, 20);
});

test("a sender that throws has failed, and the message comes again", async () => {
  let thrown = 0;
  const sender: Sender = {
    atOnce: 1,
    async send() {
      thrown += 1;
      if (thrown === 1) throw new Error("a bug");
      return { kind: "sent" };
    },
    close: async () => {},
  };
  await using run = await started(sender, 1);
  await until("it failed", () => run.lines.length === 1, patient);
  run.clock.now += 5_000;
  await until("it is sent", () => run.lines.length === 2, patient);
  assert.deepEqual(
    run.lines.map(({ outcome, code, attempt: number }) => [outcome, code, number]),
    [
      ["failed", "EUNKNOWN", 1],
      ["sent", undefined, 2],
    ],
  );
});

test("an outbox that cannot be asked for a while is told once, and then goes on", async () => {
  const faults = [new Error("the disk is full"), new Error("the disk is full")];
  const sender: Sender = { atOnce: 1, send: async () => ({ kind: "sent" }), close: async () => {} };
  await using run = await started(sender, 1, (outbox) => ({
    ...outbox,
    async take(wanted) {
      const fault = faults.pop();
      if (fault) throw fault;
      return outbox.take(wanted);
    },
  }));
  await until("it is sent", () => run.lines.length === 2, patient);
  assert.deepEqual(
    run.lines.map(({ level, event, error }) => [level, event, error]),
    [
      ["error", "outbox", "the disk is full"],
      ["info", "message", undefined],
    ],
  );
});

test("a message that was sent too late for its lease is told, and counts for whoever has it now", async () => {
  const sender = toldSender(2);
  await using run = await started(sender, 1);
  await until("it is under way", () => sender.waiting.length === 1, patient);
  run.clock.now += 61_000;
  await until("it is under way once more", () => sender.waiting.length === 2, patient);
  sender.waiting.shift()?.({ kind: "sent" });
  await until("the first is logged", () => run.lines.length === 1, patient);
  sender.waiting.shift()?.({ kind: "sent" });
  await until("the second is logged", () => run.lines.length === 2, patient);
  assert.deepEqual(
    run.lines.map(({ error }) => error),
    ["lease lost", undefined],
  );
  assert.equal((await run.outbox.counts())[0]?.sent, 1);
});

test("a send that could not be written down is told, and the message comes again", async () => {
  const sender: Sender = { atOnce: 1, send: async () => ({ kind: "sent" }), close: async () => {} };
  let failing = true;
  await using run = await started(sender, 1, (outbox) => ({
    ...outbox,
    async take(wanted) {
      const leases = await outbox.take(wanted);
      return leases.map((lease) => ({
        ...lease,
        end: (how) => (failing ? Promise.reject(new Error("the disk is full")) : lease.end(how)),
      }));
    },
  }));
  await until("it was sent", () => run.lines.length === 1, patient);
  failing = false;
  run.clock.now += 61_000;
  await until("it was sent again", () => run.lines.length === 2, patient);
  assert.deepEqual(
    run.lines.map(({ error }) => error),
    ["the disk is full", undefined],
  );
  assert.equal((await run.outbox.counts())[0]?.waiting, 0);
});

function told() {
  const clock = { now: 1_000_000 };
  return { clock, lane: lane({ atOnce: 8, now: () => clock.now, random: () => 0 }) };
}

type Told = ReturnType<typeof told>["lane"];

function fail(lane: Told, times: number): void {
  for (let count = 0; count < times; count += 1) {
    lane.began();
    lane.ended("failed");
  }
}

test("the waits are 5 s, doubled up to 10 minutes", () => {
  const waits = Array.from({ length: 10 }, (_, index) => waitSeconds(index + 1, () => 0));
  assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test("a wait is shortened by a fifth at most, however often it failed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (failures, random) => {
        const longest = waitSeconds(failures, () => 0);
        const wait = waitSeconds(failures, () => random);
        assert.ok(wait <= longest && wait >= longest * 0.8 - 1e-9 && longest <= 600);
      },
    ),
  );
});

test("eight messages at once go to one receiver", () => {
  const { lane } = told();
  assert.equal(lane.room(), 8);
  for (let count = 0; count < 8; count += 1) lane.began();
  assert.equal(lane.room(), 0);
  lane.ended("sent");
  lane.ended("failed");
  lane.ended("untried");
  assert.equal(lane.room(), 3);
});

test("a receiver that failed eight times in a row is tried with one message after ever longer rests", () => {
  const { lane, clock } = told();
  fail(lane, 7);
  assert.equal(lane.room(), 8);
  fail(lane, 1);
  for (const seconds of [5, 10, 20]) {
    assert.equal(lane.room(), 0);
    clock.now += seconds * 1000 - 1;
    assert.equal(lane.room(), 0);
    clock.now += 1;
    assert.equal(lane.room(), 1);
    lane.began();
    assert.equal(lane.room(), 0);
    lane.ended("failed");
  }
  clock.now += 40_000;
  lane.began();
  lane.ended("sent");
  assert.equal(lane.room(), 8);
});

test("a message that the receiver refuses among others that it takes does not stop it", () => {
  const { lane } = told();
  for (let count = 0; count < 100; count += 1) {
    fail(lane, 7);
    lane.began();
    lane.ended("sent");
    assert.equal(lane.room(), 8);
  }
});

test("a clock that is set back ends the rest", () => {
  const { lane, clock } = told();
  fail(lane, 20);
  assert.equal(lane.room(), 0);
  clock.now -= 1;
  assert.equal(lane.room(), 1);
});
