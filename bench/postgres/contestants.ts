import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LoadResult } from "../load.ts";
import { type Measured, start } from "../processes.ts";
import { ownRedis } from "../queue/redis.ts";
import type { Contestant } from "../rounds.ts";
import { pidOf } from "../services.ts";
import { type OwnPostgres, ownPostgres } from "./own-postgres.ts";
import type { Order } from "./queue-program.ts";

/** A queue with its processes, the server's included. */
export interface QueueContestant extends Contestant {
  submit(jobs: number, atOnce: number): Promise<LoadResult>;
  /** By so many processes, from the first that is done to the last. */
  work(jobs: number, processes: number): Promise<LoadResult>;
}

export const PROCESSES: readonly number[] = [1, 2, 4];
const JOBS_AT_ONCE = 16;
/** For the jobs of one measurement. */
const LIMIT_MS = 600_000;

const program = fileURLToPath(new URL("queue-program.ts", import.meta.url));
const onPostgres = {
  Lazaret: "lazaret.ts",
  "pg-boss": "pg-boss.mjs",
  "pg-boss, in batches": "pg-boss.mjs#batches",
  "graphile-worker": "graphile-worker.mjs",
};

/** Those on one PostgreSQL, each in a database of its own, and BullMQ on Redis; stopped after the work. */
export async function withContestants(
  folder: string,
  work: (contestants: readonly QueueContestant[], server: OwnPostgres) => Promise<void>,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await ownPostgres(folder), ({ stop }) => stop());
  const redis = stack.adopt((await ownRedis(join(folder, "queues-redis"))).measured, ({ stop }) => stop());
  const contestants: QueueContestant[] = [];

  async function add(name: string, file: string, place: { url: string; pid: number }): Promise<void> {
    const programs: Measured[] = [];
    for (let left = Math.max(...PROCESSES); left > 0; left -= 1) {
      const started = stack.adopt(start(process.execPath, [program, file, place.url], { NODE_ENV: "production" }), end);
      // One after the other: the first makes the tables.
      await answer(name, started, "ready");
      programs.push(started);
    }
    contestants.push(contestant(name, programs, place.pid));
  }

  for (const [index, [name, file]] of Object.entries(onPostgres).entries()) {
    const [program = "", variant] = file.split("#");
    const database = `queue_${index}`;
    await server.sql("postgres", `CREATE DATABASE ${database}`);
    const url = server.url(database) + (variant ? `#${variant}` : "");
    await add(name, program, { url, pid: server.pid });
  }
  await add("BullMQ", "bullmq.mjs", { url: join(folder, "queues-redis", "redis.sock"), pid: pidOf(redis) });
  await work(contestants, server);
}

/** It stops what it has open when nothing more can come. */
async function end({ child }: Measured): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.stdin?.end();
  await exit;
}

function contestant(name: string, programs: readonly Measured[], serverPid: number): QueueContestant {
  let submitted = 0;
  return {
    name,
    pids: [serverPid, ...programs.map(pidOf)],
    async submit(jobs, atOnce) {
      const [first] = programs as [Measured];
      const answered = answer(name, first, "requests");
      tell(first, { kind: "submit", jobs, atOnce, from: submitted });
      submitted += jobs;
      return (await answered) as LoadResult;
    },
    async work(jobs, processes) {
      const working = programs.slice(0, processes);
      const all = allDone(name, working, jobs);
      for (const each of working) tell(each, { kind: "work", jobsAtOnce: JOBS_AT_ONCE });
      const result = await all;
      for (const each of working) {
        const rested = answer(name, each, "rested");
        tell(each, { kind: "rest" });
        await rested;
      }
      return result;
    },
  };
}

function tell({ child }: Measured, order: Order): void {
  child.stdin?.write(`${JSON.stringify(order)}\n`);
}

/** Counted from the first that any of them says: what is needed to begin is not measured. */
async function allDone(name: string, programs: readonly Measured[], jobs: number): Promise<LoadResult> {
  const done = new Map<Measured, number>();
  let first: { at: number; done: number } | undefined;
  return hear(name, programs, (measured, said) => {
    if (!("done" in said)) return undefined;
    done.set(measured, Number(said.done));
    const sum = [...done.values()].reduce((total, each) => total + each, 0);
    first ??= { at: performance.now(), done: sum };
    if (sum < jobs) return undefined;
    return { requests: sum - first.done, seconds: (performance.now() - first.at) / 1000, latencies: [] };
  });
}

/** The next line that has this. */
function answer(name: string, program: Measured, field: string): Promise<object> {
  return hear(name, [program], (_, said) => (field in said ? said : undefined));
}

/** Listens until something was heard that means something. */
function hear<T>(
  name: string,
  programs: readonly Measured[],
  meaning: (program: Measured, said: object) => T | undefined,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = setTimeout(() => reject(new Error(`${name} takes too long`)), LIMIT_MS);
  const ended = (): void => reject(new Error(`${name} ended`));
  const listeners = programs.map((program) => {
    const listener = (line: string): void => {
      const heard = meaning(program, JSON.parse(line));
      if (heard !== undefined) resolve(heard);
    };
    program.lines.on("line", listener);
    program.child.once("exit", ended);
    return { program, listener };
  });
  return promise.finally(() => {
    clearTimeout(timer);
    for (const { program, listener } of listeners) {
      program.lines.off("line", listener);
      program.child.off("exit", ended);
    }
  });
}
