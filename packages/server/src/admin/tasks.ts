import { randomUUID } from "node:crypto";
import type { AdminTask } from "@lazaret/contract/admin";
import { Problem } from "../receive/problem.ts";

/** Work that takes a while, of this process: known until an hour after its end, or its process's. */
export interface Tasks extends AsyncDisposable {
  /** Newest first. */
  list(): AdminTask[];
  find(id: string): AdminTask | undefined;
  /** Throws the 409 problem when too many run. */
  start(task: Pick<AdminTask, "what" | "on">, work: Work): AdminTask;
  /** Ends after the step it is at. Undefined when there is none of that id. */
  stop(id: string): AdminTask | undefined;
}

export interface Progress {
  done(count?: number): void;
  failed(count?: number): void;
  total(count: number): void;
}

/** Returns early when the signal is aborted. */
type Work = (progress: Progress, signal: AbortSignal) => Promise<void>;

export interface TasksOptions {
  now(): number;
  /** Called whenever one has changed. */
  onChange(task: AdminTask): void;
}

const KEPT_MS = 3_600_000;
const MOST_KEPT = 100;
const MOST_RUNNING = 10;

interface Running {
  task: AdminTask;
  stop: AbortController;
  over: Promise<void>;
}

export function startTasks({ now, onChange }: TasksOptions): Tasks {
  const known = new Map<string, Running>();

  /** Those that ended are forgotten in time, the oldest first. */
  function sweep(): void {
    const ended = [...known.values()].filter(({ task }) => task.ended_at !== undefined);
    const tooMany = ended.slice(0, Math.max(0, ended.length - MOST_KEPT));
    const tooOld = ended.filter(({ task }) => (task.ended_at ?? 0) < now() - KEPT_MS);
    for (const { task } of [...tooMany, ...tooOld]) known.delete(task.id);
  }

  async function run(task: AdminTask, work: Work, signal: AbortSignal): Promise<void> {
    const changed = (): void => onChange({ ...task });
    const progress: Progress = {
      done(count = 1) {
        task.done += count;
        changed();
      },
      failed(count = 1) {
        task.failed += count;
        changed();
      },
      total(count) {
        task.total = count;
        changed();
      },
    };
    try {
      await work(progress, signal);
      if (signal.aborted) task.error = "stopped";
    } catch (error) {
      task.error = signal.aborted ? "stopped" : error instanceof Error ? error.message : String(error);
    }
    task.ended_at = now();
    changed();
  }

  return {
    list() {
      sweep();
      return [...known.values()].map(({ task }) => ({ ...task })).reverse();
    },
    find(id) {
      const found = known.get(id);
      return found && { ...found.task };
    },
    start({ what, on }, work) {
      sweep();
      if ([...known.values()].filter(({ task }) => task.ended_at === undefined).length >= MOST_RUNNING) {
        throw new Problem(409, "too_many_tasks", {
          message: `${MOST_RUNNING} tasks run already`,
          hint: "wait for one to end, or stop one",
        });
      }
      const task: AdminTask = { id: randomUUID(), what, on, started_at: now(), done: 0, failed: 0 };
      const stop = new AbortController();
      const running = { task, stop, over: Promise.resolve() };
      known.set(task.id, running);
      onChange({ ...task });
      running.over = run(task, work, stop.signal);
      return { ...task };
    },
    stop(id) {
      const found = known.get(id);
      found?.stop.abort();
      return found && { ...found.task };
    },
    async [Symbol.asyncDispose]() {
      for (const { stop } of known.values()) stop.abort();
      await Promise.all([...known.values()].map(({ over }) => over));
    },
  };
}
