import assert from "node:assert/strict";
import { test } from "node:test";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import { DEFAULT_TENANT } from "../../src/model/tenant.ts";
import type { Lease } from "../../src/queue/job-queue.ts";
import { type AwsStores, startAws } from "../support/aws/aws-stores.ts";
import { type Fault, faultyProxy } from "../support/aws/faulty-proxy.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { cleanReport, sampleJob } from "./sample-job.ts";

const servers = await startAws();
atTheEnd(() => servers[Symbol.asyncDispose]());

const ROUNDS = 12;
const FAULTS: readonly Fault[] = [
  { kind: "refused", status: 500, code: "InternalFailure" },
  { kind: "refused", status: 503, code: "ServiceUnavailable" },
  { kind: "answer lost" },
  { kind: "answer lost" },
  { kind: "cut" },
];

/** What the workers know. */
interface Known {
  acknowledged: Set<string>;
  /** Settled as done, or perhaps: the answer was lost. */
  finished: Set<string>;
  /** Saved with its report, and not finished or perhaps finished. */
  scanned: Set<string>;
}

test("nothing that was acknowledged is lost, and no scan either, whatever goes wrong", async () => {
  const random = randomNumbers();
  const chosen = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  await using end = new AsyncDisposableStack();
  const proxies = [
    end.use(await faultyProxy(servers.sqs.endpoint)),
    end.use(await faultyProxy(servers.dynamodb.endpoint)),
  ] as const;
  const [sqs, dynamodb] = proxies;
  const first = end.use(await servers.stores({ endpoints: { sqs: sqs.endpoint, dynamodb: dynamodb.endpoint } }));
  const processes = [first, end.use(await first.another()), end.use(await first.another())];
  const known: Known = { acknowledged: new Set(), finished: new Set(), scanned: new Set() };

  for (const proxy of proxies) proxy.fault = () => (random() < 0.12 ? chosen(FAULTS) : undefined);
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(processes.map((stores) => live(stores, known, random)));
    await first.advance(chosen([0, 1, 10, first.leaseSeconds + 1]));
  }
  for (const proxy of proxies) proxy.fault = () => undefined;
  await finishAll(first, known);

  const lost = [...known.acknowledged].filter((id) => !known.finished.has(id));
  assert.deepEqual(lost, [], random.seed);
  assert.ok(known.acknowledged.size > ROUNDS, `only ${known.acknowledged.size} jobs were added`);
});

/** One process for a while: it adds, takes, works, and now and then dies of it. */
async function live(stores: AwsStores, known: Known, random: RandomNumbers): Promise<void> {
  for (let count = 0; count < 2; count += 1) {
    const job = sampleJob(random() < 0.5 ? { counted: true } : {});
    if ((await outcome(stores.queue.add(job))) !== "failed") known.acknowledged.add(job.id);
  }
  if (random() < 0.15) await outcome(stores.deadLetters.redrive("all"));
  const leases = await outcome(stores.queue.take(3));
  if (leases === "failed") return;
  for (const lease of leases) await work(lease, known, random);
}

async function work(lease: Lease, known: Known, random: RandomNumbers): Promise<void> {
  const { id } = lease.job;
  if (known.scanned.has(id)) assert.ok(lease.job.report, `${id} is to be scanned again; ${random.seed}`);
  if (random() < 0.2) return;
  const scanned = { ...lease.job, report: cleanReport };
  if ((await outcome(lease.save(scanned))) !== true) return;
  if (!known.finished.has(id)) known.scanned.add(id);
  if (random() < 0.2) return;
  if (random() < 0.5) await outcome(lease.extend());
  const fate = random();
  if (fate < 0.3) {
    await outcome(lease.settle({ kind: "again", afterSeconds: Math.floor(random() * 20), job: scanned }));
  } else if (fate < 0.5) {
    await outcome(lease.settle({ kind: "buried", reason: "test", job: scanned }));
  } else {
    // From here on it may be done, and come back as new once more.
    known.scanned.delete(id);
    if ((await outcome(lease.settle(done))) !== false) known.finished.add(id);
  }
}

/** Works off all that is left, dead letters too, until there is nothing for longer than any lease or delay. */
async function finishAll(stores: AwsStores, known: Known): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    await stores.advance(stores.leaseSeconds + 1);
    const redriven = await stores.deadLetters.redrive("all");
    const leases = await stores.queue.take(10);
    for (const lease of leases) if (await lease.settle(done)) known.finished.add(lease.job.id);
    quiet = redriven + leases.length === 0 ? quiet + 1 : 0;
  }
  const { ready, delayed, leased, buried } = await stores.queue.counts();
  assert.deepEqual([ready, delayed, leased, buried], [0, 0, 0, 0]);
  // What a fault left counted goes when somebody would be refused for it, some at a time.
  let waiting = await stores.queue.unfinished(DEFAULT_TENANT, 1);
  for (let tries = 0; tries < 20 && waiting !== 0; tries += 1) {
    waiting = await stores.queue.unfinished(DEFAULT_TENANT, 1);
  }
  assert.equal(waiting, 0);
}

/** What is expected to go wrong is that the services cannot be asked; nothing else. */
async function outcome<T>(asked: Promise<T>): Promise<T | "failed"> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof QueueUnavailable) return "failed";
    throw error;
  }
}

interface RandomNumbers {
  (): number;
  seed: string;
}

/** Mulberry32, so that a failure tells with what it can be had again. */
function randomNumbers(seed = Math.floor(Math.random() * 2 ** 32)): RandomNumbers {
  let state = seed;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return Object.assign(next, { seed: `seed ${seed}` });
}
