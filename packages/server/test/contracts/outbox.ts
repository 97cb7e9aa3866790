import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Outbox, OutboxLease, OutboxLimits, OutboxMessage } from "../../src/platforms/shared/messages/outbox.ts";
import { oddText } from "./sample-job.ts";

/** What a platform brings to this suite: an outbox on an empty storage. */
export interface OutboxStore extends AsyncDisposable {
  outbox: Outbox;
  /** Lets time pass; negative numbers set the clock back. */
  advance(seconds: number): void | Promise<void>;
  /** The same storage seen by another process. This one closed nothing, as if it was killed or stands still. */
  another(): Promise<OutboxStore>;
}

export interface OutboxPlatform {
  name: string;
  leaseSeconds: number;
  make(limits?: Partial<OutboxLimits>): Promise<OutboxStore>;
}

const DAY = 86_400;
const RETENTION = 3 * DAY;

/** What every `Outbox` does. */
export function outboxContract({ name, leaseSeconds, make }: OutboxPlatform): void {
  describe(`the outbox of ${name}`, () => {
    test("a message that was added can be taken at once, with every character as it was", async () => {
      await using store = await make();
      const message = { id: "m-1", receiver: "a", body: JSON.stringify({ key: oddText }) };
      await store.outbox.add([message]);
      const lease = await takeOne(store, "a");
      assert.deepEqual(lease.message, message);
      assert.equal(lease.failures, 0);
    });

    test("a message that was added is there for a process started after a crash", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      await using other = await store.another();
      assert.equal((await takeOne(other, "a")).message.id, "m-1");
    });

    test("a message added again while it waits is one message", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a"), message("m-1", "b")]);
      await store.outbox.add([{ ...message("m-1", "a"), body: '"other"' }, message("m-2", "a")]);
      const leases = await store.outbox.take([
        { receiver: "a", limit: 10 },
        { receiver: "b", limit: 10 },
      ]);
      assert.deepEqual(
        leases.map((lease) => lease.message),
        [message("m-1", "a"), message("m-2", "a"), message("m-1", "b")],
      );
      assert.deepEqual(await waiting(store), { a: 2, b: 1 });
    });

    test("takes no more than the limit of each receiver, the oldest first, and nothing of others", async () => {
      await using store = await make();
      for (const id of ["1", "2", "3"]) await store.outbox.add([message(id, "a"), message(id, "b"), message(id, "c")]);
      const wanted = [
        { receiver: "a", limit: 2 },
        { receiver: "b", limit: 1 },
      ];
      assert.deepEqual(ids(await store.outbox.take(wanted)), ["1", "2", "1"]);
      assert.deepEqual(ids(await store.outbox.take(wanted)), ["3", "2"]);
      assert.deepEqual(await store.outbox.take([]), []);
    });

    test("nobody else gets a leased message until its lease runs out", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      await takeOne(store, "a");
      await using other = await store.another();
      await store.advance(leaseSeconds - 1);
      assert.deepEqual(await takeAll(other, "a"), []);
      await store.advance(2);
      const lease = await takeOne(other, "a");
      assert.equal(lease.failures, 0, "a crash is no failed try");
    });

    test("many who take at once never get the same message", async () => {
      await using store = await make();
      await using other = await store.another();
      const all = Array.from({ length: 60 }, (_, index) => String(index));
      await store.outbox.add(all.map((id) => message(id, "a")));
      const takers = Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).outbox.take([{ receiver: "a", limit: 4 }]),
      );
      assert.deepEqual(ids((await Promise.all(takers)).flat()).toSorted(), all.toSorted());
    });

    test("a message that was sent is gone, and counted", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      const lease = await takeOne(store, "a");
      assert.equal(await lease.end({ kind: "sent" }), true);
      assert.equal(await lease.end({ kind: "sent" }), false);
      await using other = await store.another();
      await store.advance(leaseSeconds + 1);
      assert.deepEqual(await takeAll(other, "a"), []);
      assert.deepEqual(await other.outbox.counts(), [{ ...none, receiver: "a", sent: 1 }]);
    });

    test("a message that failed comes again after its delay, and its failures are counted", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      for (const failures of [0, 1, 2]) {
        const lease = await takeOne(store, "a");
        assert.equal(lease.failures, failures);
        assert.equal(await lease.end({ kind: "failed", afterSeconds: 5 }), true);
        await store.advance(4);
        assert.deepEqual(await takeAll(store, "a"), []);
        await store.advance(2);
      }
      const [counts] = await store.outbox.counts();
      assert.deepEqual([counts?.waiting, counts?.failedTries, counts?.oldestSeconds], [1, 3, 18]);
    });

    test("a message that was not tried is due again at once, and no failure", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      assert.equal(await (await takeOne(store, "a")).end({ kind: "untried" }), true);
      assert.equal((await takeOne(store, "a")).failures, 0);
      assert.equal((await store.outbox.counts())[0]?.failedTries, 0);
    });

    test("a lease that was lost can write nothing", async () => {
      await using store = await make();
      await store.outbox.add([message("m-1", "a")]);
      const lost = await takeOne(store, "a");
      await store.advance(leaseSeconds + 1);
      const lease = await takeOne(store, "a");
      assert.equal(await lost.end({ kind: "sent" }), false);
      assert.equal(await lost.end({ kind: "failed", afterSeconds: 0 }), false);
      assert.equal(await lost.end({ kind: "untried" }), false);
      assert.deepEqual(await takeAll(store, "a"), []);
      assert.equal(await lease.end({ kind: "sent" }), true);
      assert.deepEqual(await store.outbox.counts(), [{ ...none, receiver: "a", sent: 1 }]);
    });

    test("a message older than three days is dropped and counted, also when nobody takes for its receiver", async () => {
      await using store = await make();
      await store.outbox.add([message("old", "a"), message("old", "gone")]);
      await (await takeOne(store, "a")).end({ kind: "failed", afterSeconds: 600 });
      await store.advance(RETENTION - 10);
      await store.outbox.add([message("new", "a")]);
      await store.outbox.sweep();
      assert.deepEqual(await waiting(store), { a: 2, gone: 1 });
      await store.advance(11);
      await store.outbox.sweep();
      assert.deepEqual(await waiting(store), { a: 1, gone: 0 });
      assert.deepEqual(
        (await store.outbox.counts()).map(({ dropped }) => dropped),
        [1, 1],
      );
      assert.equal((await takeOne(store, "a")).message.id, "new");
    });

    test("a message that is being sent is not dropped under the sender's hands", async () => {
      await using store = await make({ maxWaiting: 2 });
      await store.outbox.add([message("1", "a")]);
      await store.advance(RETENTION - 1);
      const lease = await takeOne(store, "a");
      await store.advance(2);
      await store.outbox.sweep();
      await store.outbox.add([message("2", "a"), message("3", "a"), message("4", "a")]);
      assert.equal(await lease.end({ kind: "sent" }), true);
      assert.deepEqual(ids(await takeAll(store, "a")), ["4"]);
      const [counts] = await store.outbox.counts();
      assert.deepEqual([counts?.sent, counts?.dropped, counts?.waiting], [1, 2, 1]);
    });

    test("a receiver with too many messages waiting loses the oldest; others lose nothing", async () => {
      await using store = await make({ maxWaiting: 3 });
      for (const id of ["1", "2", "3", "4", "5"]) await store.outbox.add([message(id, "a")]);
      await store.outbox.add([message("1", "b")]);
      assert.deepEqual(ids(await takeAll(store, "a")), ["3", "4", "5"]);
      assert.deepEqual(ids(await takeAll(store, "b")), ["1"]);
      assert.deepEqual(
        (await store.outbox.counts()).map(({ dropped }) => dropped),
        [2, 0],
      );
    });

    test("a receiver with too many bytes waiting loses the oldest", async () => {
      await using store = await make({ maxWaitingBytes: 100 });
      const body = JSON.stringify("x".repeat(38));
      for (const id of ["1", "2", "3"]) await store.outbox.add([{ id, receiver: "a", body }]);
      assert.deepEqual(ids(await takeAll(store, "a")), ["2", "3"]);
      const [counts] = await store.outbox.counts();
      assert.deepEqual([counts?.waiting, counts?.waitingBytes, counts?.dropped], [2, 80, 1]);
    });

    test("waiting ends at once when a message is due, also one that another process added", async () => {
      await using store = await make();
      await using other = await store.another();
      await other.outbox.add([message("m-1", "a")]);
      await store.outbox.wait(["b", "a"], new AbortController().signal);
    });

    test("waiting ends after a while when there is no message", async () => {
      await using store = await make();
      await store.outbox.wait(["a"], new AbortController().signal);
      await store.outbox.wait([], new AbortController().signal);
    });

    // A wait that nothing ends takes about a second: a hundred of them would overrun the limit by far.
    test("waiting ends early when this process adds a message, or it is given up", { timeout: 30_000 }, async () => {
      await using store = await make();
      for (let round = 0; round < 50; round += 1) {
        const woken = store.outbox.wait(["a"], new AbortController().signal);
        await store.outbox.add([message(String(round), "a")]);
        await woken;
        await (await takeOne(store, "a")).end({ kind: "sent" });
        const giveUp = new AbortController();
        const given = store.outbox.wait(["a"], giveUp.signal);
        giveUp.abort();
        await given;
      }
    });

    test("a clock that was wrong delays nobody: what it wrote waits its whole time again at most", async () => {
      await using store = await make();
      await store.advance(365 * DAY);
      await store.outbox.add([message("1", "a"), message("2", "a"), message("3", "a")]);
      const [first] = await store.outbox.take([{ receiver: "a", limit: 2 }]);
      await first?.end({ kind: "failed", afterSeconds: 60 });
      await store.advance(-365 * DAY);
      await store.outbox.sweep();
      assert.deepEqual(ids(await takeAll(store, "a")), ["3"]);
      await store.advance(leaseSeconds + 61);
      assert.deepEqual(ids(await takeAll(store, "a")).toSorted(), ["1", "2", "3"]);
      await store.advance(RETENTION);
      await store.outbox.sweep();
      assert.deepEqual((await store.outbox.counts())[0]?.dropped, 3);
    });
  });
}

const none = { waiting: 0, waitingBytes: 0, oldestSeconds: 0, sent: 0, failedTries: 0, dropped: 0 };

function message(id: string, receiver: string): OutboxMessage {
  return { id, receiver, body: JSON.stringify({ id, receiver }) };
}

function takeAll({ outbox }: OutboxStore, receiver: string): Promise<OutboxLease[]> {
  return outbox.take([{ receiver, limit: 100 }]);
}

async function takeOne(store: OutboxStore, receiver: string): Promise<OutboxLease> {
  const leases = await takeAll(store, receiver);
  assert.equal(leases.length, 1);
  return leases[0] as OutboxLease;
}

function ids(leases: readonly OutboxLease[]): string[] {
  return leases.map((lease) => lease.message.id);
}

async function waiting({ outbox }: OutboxStore): Promise<Record<string, number>> {
  return Object.fromEntries((await outbox.counts()).map(({ receiver, waiting: count }) => [receiver, count]));
}
