import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/support/until.ts";
import { isWhole } from "../flow/whole-bytes.ts";
import { Busy } from "../model/faults.ts";
import { type OpenedSource, SourceFailed } from "../model/source.ts";
import { FIRST_BYTES, type SteadyOptions, steadySource } from "./steady-source.ts";

const never = new AbortController().signal;

/** A source that gives what it is handed, when it is handed it. */
function handed() {
  const waiting: (Uint8Array | "end")[] = [];
  let wake = (): void => {};
  let stopped = false;
  const give = (piece: Uint8Array | "end"): void => {
    waiting.push(piece);
    wake();
  };
  const opened: OpenedSource = {
    announcedBytes: 7,
    bytes: {
      [Symbol.asyncIterator]: () => ({
        async next() {
          while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
          const piece = waiting.shift();
          return piece === "end" || !piece ? { done: true, value: undefined } : { done: false, value: piece };
        },
        async return() {
          stopped = true;
          return { done: true, value: undefined };
        },
      }),
    },
  };
  return { opened, give, isStopped: () => stopped };
}

/** Records what becomes of the place. */
function placed(options: Partial<SteadyOptions> = {}) {
  const steps: string[] = [];
  const place = {
    leave: () => void steps.push("left"),
    retake: async () => void steps.push("retaken"),
  };
  return { steps, options: { place, minRate: 0, slowAfterMs: 60_000, ...options } };
}

async function read(source: OpenedSource): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.bytes) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

test("a small file is passed on in one piece, which nobody has to gather again", async () => {
  const { opened, give } = handed();
  for (const piece of ["one", "-", "two", "end"]) give(piece === "end" ? piece : Buffer.from(piece));
  const { bytes } = await steadySource(async () => opened, placed().options, never);
  assert.ok(isWhole(bytes));
  assert.equal(Buffer.from(bytes.takeAll()).toString(), "one-two");
});

test("a source that is quick keeps its place, and its bytes come as they were", async () => {
  const { opened, give } = handed();
  for (const piece of ["one", "-", "two"]) give(Buffer.from(piece));
  give("end");
  const { steps, options } = placed();
  const steady = await steadySource(async () => opened, options, never);
  assert.deepEqual([await read(steady), steady.announcedBytes, steps], ["one-two", 7, []]);
});

test("a source that is slow leaves its place, and takes one again when its first bytes are here", async () => {
  const { opened, give } = handed();
  const { steps, options } = placed({ slowAfterMs: 1 });
  const steady = steadySource(async () => opened, options, never);
  await until("it has left", () => steps.length === 1);
  give(Buffer.alloc(FIRST_BYTES, "x"));
  const source = await steady;
  assert.deepEqual(steps, ["left", "retaken"]);
  give(Buffer.from("rest"));
  give("end");
  assert.equal((await read(source)).length, FIRST_BYTES + 4);
});

test("a server that takes its time to answer leaves its place as well", async () => {
  const { opened, give } = handed();
  const answer = Promise.withResolvers<OpenedSource>();
  const { steps, options } = placed({ slowAfterMs: 1 });
  const steady = steadySource(() => answer.promise, options, never);
  await until("it has left", () => steps.length === 1);
  answer.resolve(opened);
  give("end");
  assert.deepEqual([await read(await steady), steps], ["", ["left", "retaken"]]);
});

test("where there is no room to wait outside the source is given up", async () => {
  const { opened, isStopped } = handed();
  const leave = (): void => {
    throw new Busy("too many");
  };
  const { options } = placed({ slowAfterMs: 1, place: { leave, retake: async () => {} } });
  await assert.rejects(
    steadySource(async () => opened, options, never),
    Busy,
  );
  assert.equal(isStopped(), true);
});

test("what flows below the minimum rate fails in a way that may pass, also when it drips", async () => {
  const { opened, give, isStopped } = handed();
  give(Buffer.alloc(FIRST_BYTES));
  const { options } = placed({ minRate: 1_000_000, windowMs: 30 });
  const source = await steadySource(async () => opened, options, never);
  const drip = setInterval(() => give(Buffer.from(".")), 1);
  await assert
    .rejects(read(source), (error) => {
      assert.ok(error instanceof SourceFailed);
      assert.deepEqual([error.failure.code, error.failure.passing], ["too_slow", true]);
      return true;
    })
    .finally(() => clearInterval(drip));
  assert.equal(isStopped(), true);
});

test("a source whose reader is slow is not slow itself", async () => {
  const { opened, give } = handed();
  give(Buffer.alloc(FIRST_BYTES));
  for (let count = 0; count < 5; count += 1) give(Buffer.from("."));
  give("end");
  const { options } = placed({ minRate: 1_000_000, windowMs: 20 });
  const source = await steadySource(async () => opened, options, never);
  let size = 0;
  for await (const chunk of source.bytes) {
    size += chunk.length;
    const since = performance.now();
    await until("the reader took longer than the window", () => performance.now() - since > 25);
  }
  assert.equal(size, FIRST_BYTES + 5);
});

test("ends when the signal aborts: while it waits, and what it opened ends with it", async () => {
  const stop = new AbortController();
  const { opened, isStopped } = handed();
  let given: AbortSignal | undefined;
  const open = async (signal: AbortSignal): Promise<OpenedSource> => {
    given = signal;
    return opened;
  };
  const steady = steadySource(open, placed().options, stop.signal);
  setImmediate(() => stop.abort(new Error("given up")));
  await assert.rejects(steady, /given up/);
  assert.deepEqual([isStopped(), given?.aborted], [true, true]);

  const later = new AbortController();
  const other = handed();
  other.give("end");
  await steadySource(
    async (signal) => {
      given = signal;
      return other.opened;
    },
    placed().options,
    later.signal,
  );
  later.abort();
  assert.equal(given?.aborted, true);
});
