import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { until } from "../../../../test/support/until.ts";
import { log } from "../../../log.ts";
import { openJobStore } from "../../embedded/job-store.ts";
import type { Outbox } from "./outbox.ts";
import type { Sender, SendOutcome } from "./senders/sender.ts";
import { startSending } from "./sending.ts";
import type { Receiver } from "./subscriptions.ts";

const patient = { limitMs: 60_000 };
const receiver: Receiver = { id: "a", protocol: "file", endpoint: "x", place: "x" };

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
    run.lines.map(({ outcome, code, try: number }) => [outcome, code, number]),
    [
      ["failed", "EUNKNOWN", 1],
      ["sent", undefined, 2],
    ],
  );
});

test("an outbox that cannot be asked for a while is told once a second, and then goes on", async () => {
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
  await until("it is sent", () => run.lines.length === 3, patient);
  assert.deepEqual(
    run.lines.map(({ level, event, error }) => [level, event, error]),
    [
      ["error", "outbox", "the disk is full"],
      ["error", "outbox", "the disk is full"],
      ["info", "send", undefined],
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
    run.lines.map(({ fault }) => fault),
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
    run.lines.map(({ fault }) => fault),
    ["the disk is full", undefined],
  );
  assert.equal((await run.outbox.counts())[0]?.waiting, 0);
});
