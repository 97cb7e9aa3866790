import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { until } from "../../../../test/support/until.ts";
import type { ThreadData, ThreadRequest } from "./database-thread.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";
import { type Connection, jobDatabase, threadConnection } from "./job-database.ts";
import type { OperationName, Request } from "./operations.ts";

/** Answers nothing until it is told to; remembers how many requests came together. */
function slowConnection(): Connection & { sizes: number[]; answer(): void } {
  const sizes: number[] = [];
  let answer = (): void => {};
  return {
    sizes,
    answer: () => answer(),
    async run(requests) {
      sizes.push(requests.length);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return requests.map((_, index) => ({ kind: "value", value: index }));
    },
    close: async () => {},
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what is asked in one turn of the event loop, or while a commit is under way, goes together", async () => {
  const connection = slowConnection();
  const database = jobDatabase(connection);
  const ask = (): Promise<unknown> => database.run("counts", { now: 0 });
  const first = [ask(), ask(), Promise.resolve().then(ask)];
  await turn();
  assert.deepEqual(connection.sizes, [3]);
  const second = [ask()];
  await turn();
  second.push(ask());
  await turn();
  assert.deepEqual(connection.sizes, [3], "one commit at a time");
  connection.answer();
  assert.deepEqual(await Promise.all(first), [0, 1, 2]);
  await turn();
  assert.deepEqual(connection.sizes, [3, 2]);
  connection.answer();
  assert.deepEqual(await Promise.all(second), [0, 1]);
});

test("a new job does not wait for the end of the turn if nobody else was there the last time; those behind it go together", async () => {
  const connection = slowConnection();
  const database = jobDatabase(connection);
  const job = { submittedAt: 0, counts: "{}", content: "{}", share: "a" };
  const submit = (): Promise<unknown> => database.run("add", { id: "a", job, now: 1 });
  const alone = submit();
  assert.deepEqual(connection.sizes, [], "the first waits: nobody knows who comes");
  await turn();
  connection.answer();
  await alone;
  const asked = [submit(), submit(), submit()];
  assert.deepEqual(connection.sizes, [1, 1]);
  connection.answer();
  await asked[0];
  await turn();
  assert.deepEqual(connection.sizes, [1, 1, 2]);
  connection.answer();
  assert.deepEqual(await Promise.all(asked), [0, 0, 1]);
  const later = submit();
  assert.deepEqual(connection.sizes, [1, 1, 2], "two went together: others may come in this turn");
  await turn();
  connection.answer();
  await later;
  assert.deepEqual(connection.sizes, [1, 1, 2, 1]);
});

test("whatever else is asked waits for the end of the turn, also behind a new job: what belongs to it may follow", async () => {
  const connection = slowConnection();
  const database = jobDatabase(connection);
  const job = { submittedAt: 0, counts: "{}", content: "{}", share: "a" };
  const submit = (): Promise<unknown> => database.run("add", { id: "a", job, now: 1 });
  const ask = (): Promise<unknown> => database.run("counts", { now: 0 });
  const alone = submit();
  await turn();
  connection.answer();
  await alone;
  const together = [ask(), Promise.resolve().then(ask)];
  assert.deepEqual(connection.sizes, [1]);
  await turn();
  assert.deepEqual(connection.sizes, [1, 2]);
  connection.answer();
  await Promise.all(together);
  const aloneAgain = ask();
  await turn();
  connection.answer();
  await aloneAgain;
  const first = submit();
  assert.deepEqual(connection.sizes, [1, 2, 1, 1]);
  const behind = [submit(), ask()];
  connection.answer();
  await first;
  behind.push(ask());
  await turn();
  assert.deepEqual(connection.sizes, [1, 2, 1, 1, 3]);
  connection.answer();
  await Promise.all(behind);
});

test("a connection that fails fails all who asked with it, and is asked again by the next", async () => {
  const failures = [new Error("lost")];
  const database = jobDatabase({
    async run(requests) {
      const failure = failures.pop();
      if (failure) throw failure;
      return requests.map(() => ({ kind: "value", value: undefined }));
    },
    close: async () => {},
  });
  const asked = await Promise.allSettled([database.run("counts", { now: 0 }), database.run("counts", { now: 0 })]);
  assert.deepEqual(
    asked.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(await database.run("counts", { now: 0 }), undefined);
});

const add: Request = { name: "add", args: { id: "a", job: { submittedAt: 0, counts: "{}", content: "{}" }, now: 1 } };
const counts: Request = { name: "counts", args: { now: 1 } };

test("a thread that dies fails what it was asked, and is replaced", async () => {
  using folder = temporaryFolder();
  const options = { path: join(folder.path, "jobs.db"), secretKey: Buffer.alloc(32, 1), busyTimeoutMs: 1000 };
  const connection = await threadConnection(options);
  await connection.run([add]);
  await assert.rejects(connection.run([{ name: "no such operation" as OperationName, args: {} }]), (error) => {
    assert.ok(error instanceof DatabaseUnavailable);
    assert.match(error.message, /its thread was lost/);
    assert.equal(error.passes, true, "another start may have the memory or the files that this one lacked");
    return true;
  });
  const [outcome] = await connection.run([counts]);
  assert.equal(outcome?.kind === "value" && (outcome.value as { ready: number }).ready, 1);
  await connection.close();
});

test("a wake-up that comes late, for what the thread has answered already, does not end it", async () => {
  using folder = temporaryFolder();
  const asked = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const options = { path: join(folder.path, "jobs.db"), secretKey: new Uint8Array(32), busyTimeoutMs: 1000 };
  const workerData: ThreadData = { options, asked };
  const worker = new Worker(new URL("./database-thread.ts", import.meta.url), { workerData });
  await using _ = { [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
  const request: ThreadRequest = { kind: "batch", requests: [{ name: "countBuried", args: {} }] };
  const answer = async (): Promise<unknown> => (await once(worker, "message"))[0];
  assert.deepEqual(await answer(), { kind: "ready" });
  for (let round = 0; round < 3; round += 1) {
    worker.postMessage(request);
    Atomics.add(asked, 0, 1);
    Atomics.notify(asked, 0);
    assert.deepEqual(await answer(), { kind: "outcomes", outcomes: [{ kind: "value", value: { count: 0 } }] });
    // It has heard everything, and is woken up for nothing.
    await until("the thread waits", () => Atomics.notify(asked, 0) === 1);
  }
  worker.postMessage({ kind: "close" } satisfies ThreadRequest);
  Atomics.add(asked, 0, 1);
  Atomics.notify(asked, 0);
  assert.deepEqual(await once(worker, "exit"), [0]);
});

test("what cannot be sent to the thread fails alone; the thread goes on, and ends when it is closed", async () => {
  using folder = temporaryFolder();
  const options = { path: join(folder.path, "jobs.db"), secretKey: Buffer.alloc(32, 1), busyTimeoutMs: 1000 };
  const connection = await threadConnection(options);
  await assert.rejects(connection.run([{ name: "counts", args: { now: () => 1 } }]), /could not be cloned/);
  const [outcome] = await connection.run([counts]);
  assert.equal(outcome?.kind, "value");
  await assert.rejects(connection.run([{ name: "counts", args: { now: () => 1 } }]), /could not be cloned/);
  await connection.close();
});
