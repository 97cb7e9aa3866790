import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { log } from "../../src/log.ts";
import type { Job } from "../../src/model/job.ts";
import type { Stages } from "../../src/pipeline/inspect.ts";
import type { JobStages } from "../../src/pipeline/run-job.ts";
import { workJobs } from "../../src/pipeline/work-jobs.ts";
import { type JobQueue, type Lease, MAX_TRIALS, POISON } from "../../src/queue/job-queue.ts";
import { company, inCompany } from "../../src/scan/company.ts";
import { until } from "../support/until.ts";
import { sampleJob } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

const KILLER = "https://files.example/kills";
const BYSTANDERS = 3;
/** More than a killer needs: one death in company, and those alone. */
const MOST_LIVES = 12;
/** What a second of the told time takes. */
const SECOND_MS = 100;

/** What becomes of a file that kills its worker, and of those it was in company with, on every platform. */
export function poisonContract({ name, make }: Platform): void {
  describe(`poison on ${name}`, () => {
    test("a file that kills its workers is buried when it has done so alone three times, and nobody with it", async () => {
      await using stores = await make();
      const killer = job(KILLER);
      const bystanders = Array.from({ length: BYSTANDERS }, (_, index) => job(`https://files.example/${index}`));
      for (const each of [...bystanders, killer]) await stores.queue.add(each);
      const done = new Set<string>();
      const company: number[] = [];
      for (let life = 0; life < MOST_LIVES && done.size < BYSTANDERS + 1; life += 1) {
        await live(stores, { done, company, waitFor: life === 0 ? BYSTANDERS : 0 });
      }
      assert.deepEqual([...done].sort(), [...bystanders, killer].map(({ id }) => id).sort());
      assert.deepEqual(company, [BYSTANDERS, ...Array.from({ length: MAX_TRIALS }, () => 0)]);
      const { entries } = await stores.deadLetters.list({ limit: 10 });
      assert.deepEqual(
        entries.map(({ id, reason }) => [id, reason]),
        [[killer.id, POISON]],
      );

      assert.equal(await stores.deadLetters.redrive("all"), 1);
      const [again] = await stores.queue.take(1);
      assert.deepEqual([again?.job.suspect, again?.job.failedTrials], [true, 0], "it is alone from the first time on");
    });
  });
}

function job(url: string): Job {
  const { callback: _, traceId: __, ...rest } = sampleJob({ source: { kind: "url", url, headers: {} } });
  return rest;
}

interface World {
  /** Jobs that came to an end. */
  done: Set<string>;
  /** Of each death, how many others were scanned at that moment. */
  company: number[];
  /** The killer waits for so many to be scanned beside it. */
  waitFor: number;
}

/** One process, until all is done or a file kills it: from then on nothing of it is written. */
async function live(stores: Stores, { done, company: deaths, waitFor }: World): Promise<void> {
  const died = new AbortController();
  const dead = died.signal;
  let held = 0;
  let others = 0;
  let nextSecond = 0;

  function mortal(lease: Lease): Lease {
    held += 1;
    return {
      ...lease,
      extend: async () => !dead.aborted && lease.extend(),
      save: async (saved) => !dead.aborted && lease.save(saved),
      async settle(settlement) {
        if (dead.aborted) return false;
        const ours = await lease.settle(settlement);
        if (settlement.kind !== "again") done.add(lease.job.id);
        held -= 1;
        return ours;
      },
    };
  }

  const engine = {
    async scan(bytes: AsyncIterable<Uint8Array>) {
      const content = Buffer.concat(await Array.fromAsync(bytes)).toString();
      if (content === KILLER) {
        await until("it has company", () => others >= waitFor);
        deaths.push(others);
        died.abort(new Error("killed"));
      }
      others += 1;
      // In company they are as far when it comes.
      if (waitFor > 0) await until("it kills", () => dead.aborted);
      others -= 1;
      dead.throwIfAborted();
      return { kind: "clean" };
    },
  } as unknown as Stages["engine"];
  const all = company({ headStartMs: 0 });
  const stages = {
    reportEventBus: false,
    limits: { maxBytes: 1000 },
    scan: {
      open: async (source: Job["source"]) => ({ bytes: bytesOf("url" in source ? source.url : "") }),
      engine: inCompany(engine, all),
      now: () => 0,
    },
    trials: {
      engine,
      company: all,
      hold: async (bytes: AsyncIterable<Uint8Array>) => {
        const content = await Array.fromAsync(bytes);
        return { read: () => bytesOf(Buffer.concat(content).toString()), release() {} };
      },
    },
    announcer: { downloadScan: async () => {} },
    keepFinding: async () => {},
    now: () => 0,
  } as unknown as JobStages;
  const queue: JobQueue = {
    ...stores.queue,
    take: async (limit, shares) => (await stores.queue.take(limit, shares)).map(mortal),
  };
  const worker = workJobs({
    queue,
    stages,
    engineReady: async () => true,
    jobsAtOnce: BYSTANDERS + 1,
    spareJobs: 0,
    log: log({ level: "error", format: "json", write: () => {} }),
  });
  try {
    await until("all is done, or it died", async () => {
      if (dead.aborted || done.size === BYSTANDERS + 1) return true;
      // For those that were put back for a while. Nobody loses a lease by it, nor a message that a poll brings, which lasts a second.
      if (held === 0 && performance.now() >= nextSecond) {
        nextSecond = performance.now() + SECOND_MS;
        await stores.advance(1);
      }
      return false;
    });
  } finally {
    await worker.stop(0);
  }
  await stores.advance(stores.leaseSeconds + 1);
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
