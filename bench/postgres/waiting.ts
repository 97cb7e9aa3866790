import { type JobStore, openJobStore } from "../../packages/server/src/platforms/postgres/job-store.ts";
import type { Lease } from "../../packages/server/src/queue/job-queue.ts";
import { cpuSeconds } from "../processes.ts";
import { atOnce, jobAt } from "../queue/million.ts";
import { head, median, rate, row } from "../table.ts";
import { type OwnPostgres, ownPostgres } from "./own-postgres.ts";

interface WaitingOptions {
  /** On a disk: what is synced in memory costs nothing. */
  folder: string;
  /** How many wait in the one database, and in the other. */
  many: number;
  few?: number;
  rounds: number;
  /** Jobs of each round. */
  jobs: number;
}

const FEW = 1000;
const SUBMITS_AT_ONCE = 64;
const TAKEN_AT_ONCE = 16;
/** As many as go into one transaction, and as many again that are made meanwhile. */
const FILLED_AT_ONCE = 1000;

const WORK = ["submit", "take", "settle"] as const;
/** The CPU time is ours and the server's. */
type Measured = Record<(typeof WORK)[number], { perSecond: number; cpuUs: number }>;

interface Side {
  waiting: number;
  store: JobStore;
  startMs: number;
  rounds: Measured[];
}

/**
 * Many jobs waiting in one database, few in another of the same server, in turns. Each round puts in as many jobs as it takes
 * out, so that as many wait in the next.
 */
export async function measureWaiting(options: WaitingOptions): Promise<void> {
  const { folder, many, few = FEW, rounds, jobs } = options;
  await using stack = new AsyncDisposableStack();
  const server = stack.adopt(await ownPostgres(folder), ({ stop }) => stop());
  const sides: Side[] = [];
  for (const waiting of [many, few]) {
    const side = await startSide(server, waiting);
    stack.adopt(side.store, ({ close }) => close());
    sides.push(side);
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      const measured = await once(side.store, jobs, server.pid);
      // The first is to warm up.
      if (round > 0) side.rounds.push(measured);
    }
  }
  print(sides, options);
}

async function startSide(server: OwnPostgres, waiting: number): Promise<Side> {
  const database = `waiting_${waiting}`;
  await server.sql("postgres", `CREATE DATABASE ${database}`);
  const options = {
    url: server.url(database),
    pool: 4,
    schema: "lazaret",
    secretKey: Buffer.alloc(32, 7),
    migrate: true,
  };
  const filling = await openJobStore(options);
  let next = 0;
  await atOnce(FILLED_AT_ONCE, waiting, async () => {
    next += 1;
    await filling.queue.add(jobAt(next));
  });
  await filling.close();
  const started = performance.now();
  const store = await openJobStore(options);
  await store.queue.counts();
  return { waiting, store, startMs: performance.now() - started, rounds: [] };
}

let next = 10_000_000;

async function once(store: JobStore, jobs: number, serverPid: number): Promise<Measured> {
  const timed = async (work: () => Promise<void>): Promise<{ perSecond: number; cpuUs: number }> => {
    const before = { ours: process.cpuUsage(), server: cpuSeconds(serverPid), at: performance.now() };
    await work();
    const seconds = (performance.now() - before.at) / 1000;
    const { user, system } = process.cpuUsage(before.ours);
    const cpuUs = user + system + (cpuSeconds(serverPid) - before.server) * 1e6;
    return { perSecond: jobs / seconds, cpuUs: cpuUs / jobs };
  };
  const submit = await timed(() =>
    atOnce(SUBMITS_AT_ONCE, jobs, async () => {
      next += 1;
      await store.queue.add(jobAt(next));
    }),
  );
  const leases: Lease[] = [];
  const take = await timed(async () => {
    while (leases.length < jobs) {
      const some = await store.queue.take(Math.min(TAKEN_AT_ONCE, jobs - leases.length));
      if (some.length === 0) throw new Error("fewer jobs were due than are waiting");
      leases.push(...some);
    }
  });
  const settle = await timed(() =>
    atOnce(TAKEN_AT_ONCE, jobs, async () => {
      if (!(await leases.pop()?.settle({ kind: "done" }))) throw new Error("a lease was lost");
    }),
  );
  return { submit, take, settle };
}

function print(sides: readonly Side[], { rounds, jobs }: WaitingOptions): void {
  console.log(head("", "jobs waiting", "a second", "CPU µs each", "of the rate with few", "by CPU", "start ms"));
  const [, base] = sides;
  for (const work of WORK) {
    for (const { waiting, startMs, rounds: measured } of sides) {
      const of = (what: "perSecond" | "cpuUs"): number => median(measured.map((each) => each[work][what]));
      const ratio = (of: (each: Measured, few: Measured) => number): string =>
        median(measured.map((each, index) => of(each, base?.rounds[index] ?? each))).toFixed(2);
      const ratios = [
        ratio((each, few) => each[work].perSecond / few[work].perSecond),
        ratio((each, few) => few[work].cpuUs / each[work].cpuUs),
      ];
      console.log(row(work, waiting, rate(of("perSecond")), of("cpuUs").toFixed(0), ...ratios, startMs.toFixed(0)));
    }
  }
  console.log(
    `\nMedians of ${rounds} rounds of ${jobs} jobs, ${SUBMITS_AT_ONCE} submits and ${TAKEN_AT_ONCE} jobs at once.\n`,
  );
}
