import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminTask } from "@lazaret/contract/admin";
import { until } from "../../test/support/until.ts";
import { startTasks } from "./tasks.ts";

function made(): { tasks: ReturnType<typeof startTasks>; told: AdminTask[]; clock: { now: number } } {
  const told: AdminTask[] = [];
  const clock = { now: 1000 };
  return { tasks: startTasks({ now: () => clock.now, onChange: (task) => told.push(task) }), told, clock };
}

const untilStopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

test("a task tells how far it is and how it ended", async () => {
  const { tasks, told } = made();
  const { id } = tasks.start({ what: "redrive", on: "all" }, async (progress) => {
    progress.total(3);
    progress.done(2);
    progress.failed();
  });
  await until("it ended", () => tasks.find(id)?.ended_at !== undefined);
  const task = tasks.find(id);
  assert.deepEqual([task?.done, task?.failed, task?.total, task?.error], [2, 1, 3, undefined]);
  assert.equal(told.at(-1)?.ended_at, 1000);
  await tasks[Symbol.asyncDispose]();
});

test("a task that is stopped, or fails, says so", async () => {
  const { tasks } = made();
  const stopped = tasks.start({ what: "guard", on: "bucket" }, (_, signal) => untilStopped(signal));
  tasks.stop(stopped.id);
  const failed = tasks.start({ what: "guard", on: "bucket" }, async () => {
    throw new Error("no such bucket");
  });
  await until("both ended", () => tasks.list().every(({ ended_at }) => ended_at !== undefined));
  assert.equal(tasks.find(stopped.id)?.error, "stopped");
  assert.equal(tasks.find(failed.id)?.error, "no such bucket");
  assert.equal(tasks.stop("unknown"), undefined);
  await tasks[Symbol.asyncDispose]();
});

test("no more than ten run at once, and the end of the process stops them", async () => {
  const { tasks } = made();
  for (let number = 0; number < 10; number += 1) {
    tasks.start({ what: "guard", on: String(number) }, (_, signal) => untilStopped(signal));
  }
  assert.throws(() => tasks.start({ what: "guard", on: "more" }, async () => {}), { code: "too_many_tasks" });
  await tasks[Symbol.asyncDispose]();
  assert.ok(tasks.list().every(({ error }) => error === "stopped"));
});

test("a task that ended is known for an hour, and of many the newest hundred", async () => {
  const { tasks, clock } = made();
  for (let number = 0; number < 120; number += 1) {
    const { id } = tasks.start({ what: "delete", on: String(number) }, async () => {});
    await until("it ended", () => tasks.find(id)?.ended_at !== undefined);
  }
  assert.equal(tasks.list().length, 100);
  assert.equal(tasks.list()[0]?.on, "119");
  clock.now += 3_600_001;
  assert.deepEqual(tasks.list(), []);
  await tasks[Symbol.asyncDispose]();
});
