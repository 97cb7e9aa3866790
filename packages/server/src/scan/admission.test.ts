import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { until } from "../../test/support/until.ts";
import { isWhole } from "../flow/whole-bytes.ts";
import { Busy, TooSlow } from "../model/faults.ts";
import { type Admission, type AdmissionOptions, type Admitted, admission, type Place } from "./admission.ts";

const never = new AbortController().signal;
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const KIB = 1024;

/** Bytes that come when they are told to. */
function sender(): { bytes: AsyncIterable<Uint8Array>; send(chunk: Uint8Array | string): void; end(): void } {
  const chunks: Uint8Array[] = [];
  let ended = false;
  let wake = (): void => {};
  return {
    bytes: (async function* () {
      for (;;) {
        const next = chunks.shift();
        if (next) yield next;
        else if (ended) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    })(),
    send(chunk) {
      chunks.push(Buffer.from(chunk));
      wake();
    },
    end() {
      ended = true;
      wake();
    },
  };
}

async function* arrived(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}

interface Setup {
  line: Admission;
  /** Milliseconds. */
  clock: { now: number };
  held: { count: number; released: number };
}

function setup(options: Partial<AdmissionOptions> = {}): Setup {
  const clock = { now: 0 };
  const held = { count: 0, released: 0 };
  const line = admission({
    slots: 1,
    longestLine: 3,
    now: () => clock.now,
    async hold(bytes) {
      held.count += 1;
      const all = await read(bytes);
      return {
        read: () => arrived(all),
        release: () => {
          held.released += 1;
        },
      };
    },
    ...options,
  });
  return { line, clock, held };
}

const lost = (reason: Error): never => assert.fail(reason);
const isAdmitted = async (admitted: Promise<Admitted>): Promise<boolean> =>
  Promise.race([admitted.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);

test("who trickles has no slot; a file that is here is scanned meanwhile", async () => {
  const { line } = setup();
  const slow = sender();
  const trickling = line.join("slow", lost).admit(slow.bytes, never);
  slow.send("a");
  assert.equal(await isAdmitted(trickling), false);
  const here = await line.join("other", lost).admit(arrived("whole file"), never);
  assert.equal(String(await read(here.bytes)), "whole file");
  here.leave();
  slow.send("b");
  slow.end();
  assert.equal(String(await read((await trickling).bytes)), "ab");
});

test("a large file that comes slowly is held until all of it is here, and then scanned as it came", async () => {
  const { line, clock, held } = setup();
  const slow = sender();
  const admitted = line.join("key", lost).admit(slow.bytes, never);
  const sent = Buffer.from(Array.from({ length: 100 * KIB }, (_, at) => at % 251));
  slow.send(sent.subarray(0, 40 * KIB));
  await new Promise(setImmediate);
  clock.now = 1000;
  slow.send(sent.subarray(40 * KIB));
  await until("it is being held", () => held.count === 1);
  assert.equal(await isAdmitted(admitted), false);
  slow.end();
  const { bytes, leave } = await admitted;
  assert.deepEqual(await read(bytes), sent);
  assert.equal(held.released, 0);
  leave();
  assert.equal(held.released, 1);
});

test("a large file that flows takes its slot before its end, and is not held", async () => {
  const { line, held } = setup();
  const fast = sender();
  const sent = Buffer.alloc(100 * KIB, "x");
  fast.send(sent);
  const { bytes, leave } = await line.join("key", lost).admit(fast.bytes, never);
  fast.send("end");
  fast.end();
  assert.equal((await read(bytes)).length, sent.length + 3);
  assert.equal(held.count, 0);
  leave();
});

const announced = (bytes: AsyncIterable<Uint8Array>, announcedBytes: number): AsyncIterable<Uint8Array> =>
  Object.assign(bytes, { announcedBytes });

test("a file of a size that is received whole takes its slot when all of it is here, and is in one piece", async () => {
  const { line, held } = setup({ wholeBytes: 300 * KIB });
  const fast = sender();
  const sent = Buffer.from(Array.from({ length: 300 * KIB }, (_, at) => at % 251));
  const admitted = line.join("key", lost).admit(announced(fast.bytes, sent.length), never);
  for (const at of [0, 70, 140, 210]) fast.send(sent.subarray(at * KIB, (at + 70) * KIB));
  // It has stopped, and has no slot that it could keep from others.
  assert.equal(await isAdmitted(admitted), false);
  (await line.join("other", lost).admit(arrived("x"), never)).leave();
  fast.send(sent.subarray(280 * KIB));
  fast.end();
  const { bytes, leave } = await admitted;
  assert.ok(isWhole(bytes));
  assert.deepEqual(Buffer.from(bytes.takeAll()), sent);
  leave();
  assert.equal(held.count, 0);
});

test("pieces are copied: no sender shares memory with what is scanned", async () => {
  const { line } = setup({ wholeBytes: 300 * KIB });
  for (const count of [1, 2, 3]) {
    const pieces = Array.from({ length: count }, (_, index) => new Uint8Array(50 * KIB).fill(index + 1));
    const expected = Buffer.concat(pieces);
    async function* all(): AsyncGenerator<Uint8Array> {
      yield* pieces;
    }
    const place = line.join("key", lost);
    const { bytes, leave } = await place.admit(announced(all(), expected.length), never);
    for (const piece of pieces) piece.fill(0);
    assert.ok(isWhole(bytes));
    assert.deepEqual(Buffer.from(bytes.takeAll()), expected);
    leave();
    place.leave();
  }
});

test("one that becomes slow after it had flowed is held", async () => {
  const { line, clock, held } = setup({ wholeBytes: 300 * KIB });
  const slow = sender();
  const sent = Buffer.alloc(300 * KIB, "x");
  const admitted = line.join("key", lost).admit(announced(slow.bytes, sent.length), never);
  slow.send(sent.subarray(0, 100 * KIB));
  await new Promise(setImmediate);
  clock.now = 1000;
  slow.send(sent.subarray(100 * KIB, 200 * KIB));
  await until("it is being held", () => held.count === 1);
  slow.send(sent.subarray(200 * KIB));
  slow.end();
  const { bytes, leave } = await admitted;
  assert.deepEqual(await read(bytes), sent);
  leave();
  assert.equal(held.released, 1);
});

test("of one that is held on disk nothing is kept in memory", async () => {
  const { resolve, promise: pieces } = Promise.withResolvers<WeakRef<Uint8Array>[]>();
  const { line, clock } = setup({
    wholeBytes: 300 * KIB,
    async hold(bytes) {
      const seen: WeakRef<Uint8Array>[] = [];
      for await (const piece of bytes) {
        seen.push(new WeakRef(piece));
        if (seen.length === 2) resolve(seen);
      }
      return { read: () => arrived(""), release: () => {} };
    },
  });
  const slow = sender();
  const admitted = line.join("key", lost).admit(announced(slow.bytes, 300 * KIB), never);
  slow.send(Buffer.alloc(100 * KIB));
  await new Promise(setImmediate);
  clock.now = 1000;
  slow.send(Buffer.alloc(100 * KIB));
  const [first] = await pieces;
  await until("it was collected", () => {
    collect();
    return first?.deref() === undefined;
  });
  slow.end();
  (await admitted).leave();
});

test("larger ones, and more than there is room for, are read in their slot; room comes back with their places", async () => {
  const { line } = setup({ slots: 100, longestLine: 100, wholeBytes: 1024 * KIB });
  const whole = Buffer.alloc(1024 * KIB, "x");
  const admit = async (place: Place, content: Buffer): Promise<boolean> => {
    const { bytes } = await place.admit(announced(arrived(content), content.length), never);
    const inOnePiece = isWhole(bytes);
    assert.equal((await read(bytes)).length, content.length);
    return inOnePiece;
  };
  assert.equal(await admit(line.join("key", lost), Buffer.alloc(1025 * KIB)), false);
  const places = Array.from({ length: 17 }, () => line.join("key", lost));
  const received = [];
  for (const place of places) received.push(await admit(place, whole));
  assert.deepEqual(received, [...Array.from({ length: 16 }, () => true), false]);
  for (const place of places) place.leave();
  for (const _ of places.slice(0, 16)) assert.equal(await admit(line.join("key", lost), whole), true);
});

test("one that flowed and stopped keeps its slot while nobody wants it, and loses it when somebody does", async () => {
  const { line, clock } = setup({ checkEveryMs: 5 });
  const stopped = sender();
  const reasons: Error[] = [];
  stopped.send(Buffer.alloc(100 * KIB));
  const { bytes, leave } = await line.join("stopped", (reason) => reasons.push(reason)).admit(stopped.bytes, never);
  const reading = read(bytes);
  let looks = 0;
  const passing = setInterval(() => {
    clock.now += 5;
    looks += 1;
  }, 5);
  try {
    await until("it was looked at a few times", () => looks > 10);
    assert.deepEqual(reasons, []);
    const waiting = line.join("other", lost).admit(arrived("x"), never);
    await until("it has lost its slot", () => reasons.length > 0);
    assert.deepEqual(reasons.map(({ name }) => name).slice(0, 1), [TooSlow.name]);
    leave();
    (await waiting).leave();
  } finally {
    clearInterval(passing);
    stopped.end();
    await reading;
  }
});

test("when all places are taken the key that has most gives up its newest for another, and gets no more itself", () => {
  const { line } = setup({ slots: 1, longestLine: 3 });
  const reasons: [place: number, reason: Error][] = [];
  const greedy = [0, 1, 2, 3].map((place) => line.join("greedy", (reason) => reasons.push([place, reason])));
  assert.throws(() => line.join("greedy", lost), Busy);
  line.join("other", lost);
  assert.deepEqual(
    reasons.map(([place, reason]) => [place, reason instanceof Busy]),
    [[3, true]],
  );
  line.join("other", lost);
  assert.deepEqual(
    reasons.map(([place]) => place),
    [3, 2],
  );
  // Two each by now: that is fair.
  assert.throws(() => line.join("other", lost), Busy);
  greedy[0]?.leave();
  line.join("third", lost);
});

test("who has no place gets one beside a key of any weight, and keeps it", () => {
  const { line } = setup({ weightOf: (key) => (key === "heavy" ? 1000 : 1) });
  const reasons: number[] = [];
  for (const place of [0, 1, 2, 3]) line.join("heavy", () => reasons.push(place));
  line.join("small", lost);
  assert.deepEqual(reasons, [3]);
  // By its weight it has more than its part now, but this is all it has.
  assert.throws(() => line.join("heavy", lost), Busy);
  // Whoever has one already is weighed.
  assert.throws(() => line.join("small", lost), Busy);
});

test("where those of the key that has most are all in slots, the next one gives up its newest", async () => {
  const { line } = setup({ slots: 3, longestLine: 2 });
  const reasons: number[] = [];
  for (let slot = 0; slot < 3; slot += 1) await line.join("most", lost).admit(arrived("x"), never);
  for (const place of [0, 1]) line.join("next", () => reasons.push(place));
  line.join("other", lost);
  assert.deepEqual(reasons, [1]);
});

test("the spare slots are for another key than the one whose scans have all the others", async () => {
  const { line } = setup({ slots: 2, spareSlots: 1, longestLine: 9 });
  const crowd = [1, 2, 3].map(() => line.join("crowd", lost).admit(arrived("x"), never));
  assert.deepEqual(await Promise.all(crowd.map(isAdmitted)), [true, true, false]);
  assert.ok(await isAdmitted(line.join("other", lost).admit(arrived("x"), never)));
  assert.deepEqual(line.counts(), { scanning: 3, waiting: 1 });
});

test("a place in a slot is not given up", async () => {
  const { line } = setup({ slots: 2, longestLine: 0 });
  const places: Place[] = [line.join("greedy", lost), line.join("greedy", lost)];
  for (const place of places) await place.admit(arrived("x"), never);
  assert.throws(() => line.join("other", lost), Busy);
});

test("bytes that fail while they are received fail the scan, and free the place", async () => {
  const { line } = setup({ slots: 1, longestLine: 0 });
  const place = line.join("key", lost);
  const failing = (async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("x");
    throw new Error("the connection closed");
  })();
  await assert.rejects(place.admit(failing, never), /the connection closed/);
  place.leave();
  (await line.join("key", lost).admit(arrived("x"), never)).leave();
});
