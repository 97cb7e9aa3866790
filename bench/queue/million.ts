import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Job, noFailures, traceOf } from "../../packages/server/src/model/job.ts";
import { prepareDataFolder } from "../../packages/server/src/platforms/embedded/data-folder.ts";
import { type JobStore, openJobStore } from "../../packages/server/src/platforms/embedded/job-store.ts";
import { openDatabase } from "../../packages/server/src/platforms/embedded/sqlite/open-database.ts";
import {
  batchRunner,
  RESULT_MS,
  type Request,
} from "../../packages/server/src/platforms/embedded/sqlite/operations.ts";
import { transactions } from "../../packages/server/src/platforms/embedded/sqlite/transaction.ts";
import { storedJob } from "../../packages/server/src/platforms/shared/stored-job.ts";
import { type Lease, newJobId } from "../../packages/server/src/queue/job-queue.ts";
import { ceilingWith } from "../ceilings.ts";
import { head, median, rate, row } from "../table.ts";
import type { Target } from "../targets.ts";

interface MillionOptions {
  /** On a disk: what is synced in memory costs nothing. */
  folder: string;
  /** How many wait in the one data folder, and in the other. */
  many?: number;
  few?: number;
  rounds?: number;
  /** Jobs of each round. */
  jobs?: number;
}

const MANY = 1_000_000;
const FEW = 1000;
const ROUNDS = 5;
const JOBS = 2000;
const AT_ONCE = 64;
const TAKEN_AT_ONCE = 16;
const FILLED_AT_ONCE = 5000;
const KEYS = 3;
/** Of entries alone, for the ceiling: of as many jobs as those of a round. */
const COMMITS = Math.ceil(JOBS / AT_ONCE);
/** Of two jobs one has a callback, and one a trace id, whose result can be polled. */
const TRACED = 2;

const WORK = ["submit", "take", "settle"] as const;
type Measured = Record<(typeof WORK)[number], { perSecond: number; cpuUs: number }>;

interface Side {
  waiting: number;
  store: JobStore;
  startMs: number;
  rounds: Measured[];
}

/**
 * The embedded queue with many jobs waiting, beside the same with few, in turns. Each round puts in as many jobs as it takes
 * out, so that as many wait in the next.
 */
export async function measureMillion(options: MillionOptions): Promise<void> {
  const sides = await sidesWith(options);
  print(sides, options.rounds ?? ROUNDS, options.jobs ?? JOBS);
}

/** At least 0.9 of the rate with few, and a start within 5 seconds. */
export async function waitingTargets(options: MillionOptions): Promise<Target[]> {
  const [many, few] = await sidesWith(options);
  const submitCeiling = await ceilingOfSubmit(
    options,
    median((few?.rounds ?? []).map((each) => each.submit.perSecond)),
  );
  const waiting = (many?.waiting ?? 0).toLocaleString("en");
  return [
    ...WORK.map((work): Target => {
      const of = (side: Side | undefined): number[] => (side?.rounds ?? []).map((each) => each[work].perSecond);
      const base = of(few);
      const values = of(many).map((perSecond, round) => perSecond / (base[round] ?? Number.NaN));
      const cpu = (side: Side | undefined): number => median((side?.rounds ?? []).map((each) => each[work].cpuUs));
      const byCpu = cpu(few) / cpu(many);
      return {
        work: `${work}, ${waiting} jobs waiting`,
        values,
        want: { least: 0.9 },
        unit: "of 1,000 waiting",
        byCpu,
        ...(work === "submit" && { ceiling: submitCeiling }),
      };
    }),
    {
      work: `start, ${waiting} jobs waiting`,
      values: [(many?.startMs ?? Number.NaN) / 1000],
      want: { most: 5 },
      unit: "s",
    },
  ];
}

async function sidesWith(options: MillionOptions): Promise<readonly Side[]> {
  const { folder, many = MANY, few = FEW, rounds = ROUNDS, jobs = JOBS } = options;
  const sides: Side[] = [];
  try {
    for (const waiting of [many, few]) sides.push(await startSide(join(folder, `waiting-${waiting}`), waiting));
    for (let round = 0; round <= rounds; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const measured = await once(side.store, jobs);
        // The first is to warm up.
        if (round > 0) side.rounds.push(measured);
      }
    }
    return sides;
  } finally {
    for (const { store } of sides) await store.close();
  }
}

/**
 * A trace id is found in a tree, in which the entries of one commit are far apart. With many entries each needs a page of its own, which is
 * written to the log of changes and then to the file. Where submits with few waiting cost what they do, and nothing else costs more with many,
 * this is the rate that is left.
 */
async function ceilingOfSubmit(
  { folder, many = MANY, few = FEW, rounds = ROUNDS }: MillionOptions,
  perSecond: number,
): Promise<number> {
  const trees: TraceTree[] = [];
  for (const waiting of [many, few]) trees.push(await traceTree(join(folder, `traces-${waiting}`), waiting / TRACED));
  const more = Array.from({ length: rounds }, () => {
    const [ofMany = Number.NaN, ofFew = Number.NaN] = trees.map((tree) => tree.entrySeconds());
    return ofMany - ofFew;
  });
  for (const tree of trees) tree.close();
  return ceilingWith(perSecond, median(more) / TRACED);
}

interface TraceTree {
  /** How long one entry takes, in transactions of as many as a commit of the measurement has. */
  entrySeconds(): number;
  close(): void;
}

async function traceTree(dataDir: string, entries: number): Promise<TraceTree> {
  const { databasePath: path, secretKey } = await prepareDataFolder(dataDir);
  const { db } = openDatabase({ path, secretKey, busyTimeoutMs: 5000 });
  const insert = db.prepare("INSERT INTO results (trace, job_id, expires_at) VALUES (?, ?, ?)");
  const inTransaction = transactions(db);
  const put = (count: number): void =>
    inTransaction("durable", () => {
      for (let done = 0; done < count; done += 1) insert.run(randomBytes(32), newJobId(), Date.now() + RESULT_MS);
    });
  for (let left = entries; left > 0; left -= FILLED_AT_ONCE) put(Math.min(left, FILLED_AT_ONCE));
  return {
    entrySeconds() {
      const started = performance.now();
      for (let commit = 0; commit < COMMITS; commit += 1) put(AT_ONCE / TRACED);
      return (performance.now() - started) / 1000 / (COMMITS * (AT_ONCE / TRACED));
    },
    close: () => db.close(),
  };
}

function print(sides: readonly Side[], rounds: number, jobs: number): void {
  console.log(head("", "jobs waiting", "a second", "CPU µs each", "of the rate with few", "start ms"));
  const [, base] = sides;
  for (const work of WORK) {
    for (const { waiting, startMs, rounds: measured } of sides) {
      const of = (what: "perSecond" | "cpuUs"): number => median(measured.map((each) => each[work][what]));
      const ratios = measured.map((each, index) => each[work].perSecond / (base?.rounds[index]?.[work].perSecond ?? 0));
      const cells = [rate(of("perSecond")), of("cpuUs").toFixed(0), median(ratios).toFixed(2), startMs.toFixed(0)];
      console.log(row(work, waiting, ...cells));
    }
  }
  console.log(`\nMedians of ${rounds} rounds of ${jobs} jobs, ${AT_ONCE} submits at once.\n`);
}

async function startSide(dataDir: string, waiting: number): Promise<Side> {
  await fill(dataDir, waiting);
  const started = performance.now();
  const store = await openJobStore(dataDir);
  await store.queue.counts();
  return { waiting, store, startMs: performance.now() - started, rounds: [] };
}

/** By the queue's own way in, many jobs in one transaction. */
async function fill(dataDir: string, jobs: number): Promise<void> {
  const { databasePath: path, secretKey } = await prepareDataFolder(dataDir);
  const database = openDatabase({ path, secretKey, busyTimeoutMs: 5000 });
  const run = batchRunner(database);
  for (let done = 0; done < jobs; done += FILLED_AT_ONCE) {
    const some = Math.min(FILLED_AT_ONCE, jobs - done);
    const failed = run(Array.from({ length: some }, (_, index) => adding(done + index))).find(
      ({ kind }) => kind !== "value",
    );
    if (failed) throw new Error(`cannot fill ${dataDir}`, { cause: failed });
  }
  database.db.close();
}

function adding(index: number): Request {
  const now = Date.now();
  const job = jobAt(index);
  const trace = traceOf(job);
  const expected = trace && { expected: { trace, expiresAt: now + RESULT_MS } };
  return { name: "add", args: { id: job.id, job: storedJob(job), now, ...expected } };
}

export function jobAt(index: number): Job {
  return {
    id: newJobId(),
    submittedAt: Date.now(),
    tenant: `tenant-${index % KEYS}`,
    key: "key-1",
    customData: `order ${index}`,
    source: { kind: "url", url: "https://files.example/reports/q3.pdf", headers: {} },
    ...(index % TRACED === 0
      ? { traceId: `trace ${index}` }
      : { callback: { url: "https://receiver.example/scans", headers: {} } }),
    ...noFailures,
  };
}

let next = 10_000_000;

async function once(store: JobStore, jobs: number): Promise<Measured> {
  const submit = await timed(jobs, async () => {
    await atOnce(AT_ONCE, jobs, async () => {
      next += 1;
      await store.queue.add(jobAt(next));
    });
  });
  const leases: Lease[] = [];
  const take = await timed(jobs, async () => {
    while (leases.length < jobs) {
      const some = await store.queue.take(Math.min(TAKEN_AT_ONCE, jobs - leases.length));
      if (some.length === 0) throw new Error("fewer jobs were due than are waiting");
      leases.push(...some);
    }
  });
  const settle = await timed(jobs, async () => {
    await atOnce(TAKEN_AT_ONCE, jobs, async () => {
      if (!(await leases.pop()?.settle({ kind: "done" }))) throw new Error("a lease was lost");
    });
  });
  return { submit, take, settle };
}

async function timed(count: number, work: () => Promise<void>): Promise<{ perSecond: number; cpuUs: number }> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuUs: (user + system) / count };
}

export async function atOnce(callers: number, count: number, work: () => Promise<void>): Promise<void> {
  let left = count;
  async function call(): Promise<void> {
    while (left > 0) {
      left -= 1;
      await work();
    }
  }
  await Promise.all(Array.from({ length: callers }, call));
}
